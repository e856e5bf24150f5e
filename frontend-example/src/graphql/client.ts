import { Client, fetchExchange, subscriptionExchange } from "urql";
import { cache } from "./cache";
import { subscribeResuming } from "./socket";

export const client = new Client({
  url: "/graphql",
  preferGetMethod: false, // the server answers POST only
  exchanges: [
    cache,
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
