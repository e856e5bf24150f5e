// What this app asks, as it asks it: the texts that a server must know to run trusted documents only.
// They are taken from requests of the app's own client, so whatever it does to an operation on the way
// (its cache asks for the type of everything) is in them.
import { createHash } from "node:crypto";
import { Kind, type OperationDefinitionNode } from "graphql";
import { Client, fetchExchange, subscriptionExchange, type TypedDocumentNode } from "urql";
import { expect, test } from "vitest";
import * as generated from "../gql/graphql";
import { cache } from "./cache";

type Operation = TypedDocumentNode<unknown, Record<string, unknown>>;

const OPERATIONS = Object.entries(generated)
  .filter(([name]) => name.endsWith("Document"))
  .map(([, document]) => document as unknown as Operation);

function definition({ definitions }: Operation): OperationDefinitionNode {
  const found = definitions.find((each) => each.kind === Kind.OPERATION_DEFINITION);
  if (!found) throw new Error("a document without an operation");
  return found;
}

/** The text of every operation that the app has, in order. */
async function sentTexts(): Promise<string[]> {
  const texts = new Set<string>();
  const client = new Client({
    url: "http://nowhere.test/graphql",
    preferGetMethod: false,
    requestPolicy: "network-only",
    fetch: (_, init) => {
      texts.add((JSON.parse(init?.body as string) as { query: string }).query);
      const headers = { "content-type": "application/json" };
      return Promise.resolve(new Response('{"data":null}', { headers }));
    },
    exchanges: [
      cache,
      fetchExchange,
      subscriptionExchange({
        forwardSubscription: ({ query }) => ({
          subscribe: (sink) => {
            texts.add(query ?? "");
            sink.next({ data: null });
            return { unsubscribe: () => undefined };
          },
        }),
      }),
    ],
  });
  for (const operation of OPERATIONS) {
    const answers = client[definition(operation).operation](operation, {});
    await new Promise<void>((answered) => answers.subscribe(() => answered()));
  }
  return [...texts].sort();
}

test("the file of trusted documents has every operation as it is sent", async () => {
  const texts = await sentTexts();
  const names = texts.map((text) => /^\w+ (\w+)/.exec(text)?.[1]);
  expect(names.toSorted()).toEqual(
    OPERATIONS.map((each) => definition(each).name?.value).toSorted(),
  );
  const id = (text: string) => `sha256:${createHash("sha256").update(text).digest("hex")}`;
  const manifest = Object.fromEntries(texts.map((text) => [id(text), text]));
  const written = `${JSON.stringify(manifest, null, 2)}\n`;
  await expect(written).toMatchFileSnapshot("../../../server/frontend/documents.json");
});
