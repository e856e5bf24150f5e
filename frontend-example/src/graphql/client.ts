import { Client, fetchExchange, mapExchange, subscriptionExchange } from "urql";
import { cache } from "./cache";
import { errorCode } from "./errors";
import { subscribeResuming } from "./socket";
import { credentials, wantToken } from "./token";

export const client = new Client({
  url: "/graphql",
  preferGetMethod: false, // the server answers POST only
  fetchOptions: () => ({ headers: credentials() }),
  exchanges: [
    cache,
    mapExchange({
      onError(error) {
        if (errorCode(error) === "UNAUTHENTICATED") wantToken();
      },
    }),
    fetchExchange,
    subscriptionExchange({
      forwardSubscription: ({ query, variables }) => ({
        subscribe: (sink) => ({
          unsubscribe: subscribeResuming({ query: query ?? "", variables: variables ?? {} }, sink),
        }),
      }),
    }),
  ],
});
