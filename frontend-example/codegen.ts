// Types for every operation in src/, made from the server's own schema. The result is committed:
// building the app needs no code generator, and a change of the schema shows in review.
import type { CodegenConfig } from "@graphql-codegen/cli";

const config: CodegenConfig = {
  schema: "../schema/schema.graphql",
  documents: ["src/**/*.{ts,tsx}", "!src/gql/**"],
  generates: {
    "src/gql/": {
      preset: "client",
      presetConfig: { fragmentMasking: false },
      config: {
        enumType: "string-literal",
        useTypeImports: true,
        strictScalars: true,
        scalars: { EpochMillis: "number", SafeInt: "number", JSON: "unknown", Cursor: "string" },
      },
    },
    // What Graphcache must know to match fragments on interfaces and to write partial results.
    "src/gql/introspection.json": { plugins: ["urql-introspection"] },
  },
};

export default config;
