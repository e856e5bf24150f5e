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

  // The token of this browser tab: typed into a field, kept until the tab is closed, sent in a header.
  // It never becomes a part of an address, where histories and logs of proxies would keep it.
  const TOKEN = "sessiongraph:token";
  const FORBIDDEN = 4403;
  const bareToken = (typed) => typed.trim().replace(/^(authorization:\s*)?(bearer\s+)?/i, "");
  const withToken = (headers) => {
    const token = sessionStorage.getItem(TOKEN);
    const given = Object.keys(headers).some((name) => name.toLowerCase() === "authorization");
    return token && !given ? { ...headers, authorization: `Bearer ${token}` } : headers;
  };

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
        // The token is missing, wrong, or was revoked: another attempt would end the same.
        shouldRetry: (event) => event?.code !== undefined && event.code !== FORBIDDEN,
      });
      fetchers.set(key, GraphiQL.createFetcher({ url: endpoint.href, wsClient }));
    }
    return fetchers.get(key);
  };
  const fetcher = (request, options) => {
    const headers = withToken(options?.headers ?? {});
    return fetcherFor(headers)(request, { ...options, headers });
  };

  const element = React.createElement;
  const TokenForm = () => {
    const [token, setToken] = React.useState(sessionStorage.getItem(TOKEN) ?? "");
    const change = (event) => {
      const typed = bareToken(event.target.value);
      setToken(typed);
      if (typed) sessionStorage.setItem(TOKEN, typed);
      else sessionStorage.removeItem(TOKEN);
    };
    const begin = (event) => {
      event.preventDefault();
      location.reload(); // so that the schema is asked for with the token
    };
    return element("form", { className: "token", onSubmit: begin },
      element("h2", null, "Token"),
      element("label", { htmlFor: "token" }, "Sent as a bearer token with every request:"),
      element("input", {
        id: "token", type: "password", autoComplete: "off", spellCheck: false,
        value: token, onChange: change,
      }),
      element("button", { className: "graphiql-button", type: "submit" }, "Load the schema with it"),
      element("p", null, "`sessiongraph token show` prints it; the whole header may be pasted. "
        + "Kept until this tab is closed, in this tab alone. "
        + "An authorization header in the Headers editor takes its place."),
    );
  };
  const tokenPlugin = {
    title: "Token",
    icon: () => element("svg",
      { viewBox: "0 0 24 24", fill: "none", stroke: "currentColor", strokeWidth: 1.5, height: "1em" },
      element("circle", { cx: 8, cy: 15, r: 4 }),
      element("path", { d: "M11 12 20 3m-4 4 3 3" }),
    ),
    content: TokenForm,
  };

  const examples = JSON.parse(document.getElementById("examples").textContent);
  ReactDOM.createRoot(place).render(
    element(GraphiQL, {
      fetcher,
      defaultTabs: examples.map((query) => ({ query })),
      defaultQuery: "# Ctrl-Space completes, Ctrl-Enter runs.\n{\n  \n}\n",
      defaultEditorToolsVisibility: false,
      shouldPersistHeaders: false,
      inputValueDeprecation: true,
      plugins: [tokenPlugin],
    }),
  );
})();
