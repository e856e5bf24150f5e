// Starts GraphiQL on the page: HTTP for queries and mutations, graphql-transport-ws for
// subscriptions, and example queries in the tabs of a first visit. A file of its own, so that the
// page needs no inline script.
"use strict";

(() => {
  const place = document.getElementById("graphiql");
  if (typeof React === "undefined" || typeof ReactDOM === "undefined" ||
      typeof GraphiQL === "undefined" || typeof graphqlWs === "undefined") {
    place.textContent = "GraphiQL could not be loaded. The browser's console says why.";
    return;
  }

  const endpoint = new URL(place.dataset.endpoint, location.href);
  const socketUrl = new URL(endpoint);
  socketUrl.protocol = endpoint.protocol === "https:" ? "wss:" : "ws:";

  // The Headers editor counts for subscriptions too: a browser cannot set headers of a WebSocket,
  // so they travel as the payload of connection_init. One client for each set of headers.
  const fetchers = new Map();
  const fetcherFor = (headers) => {
    const key = JSON.stringify(headers);
    if (!fetchers.has(key)) {
      const wsClient = graphqlWs.createClient({
        url: socketUrl.href,
        connectionParams: headers,
        lazy: true,
      });
      fetchers.set(key, GraphiQL.createFetcher({ url: endpoint.href, wsClient }));
    }
    return fetchers.get(key);
  };
  const fetcher = (request, options) => fetcherFor(options?.headers ?? {})(request, options);

  const examples = JSON.parse(document.getElementById("examples").textContent);
  ReactDOM.createRoot(place).render(
    React.createElement(GraphiQL, {
      fetcher,
      defaultTabs: examples.map((query) => ({ query })),
      defaultQuery: "# Ctrl-Space completes, Ctrl-Enter runs.\n{\n  \n}\n",
      defaultEditorToolsVisibility: false,
      shouldPersistHeaders: false,
      inputValueDeprecation: true,
    }),
  );
})();
