import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { Provider } from "urql";
import { Router } from "wouter";
import { App } from "./App";
import { client } from "./graphql/client";
import "./ui/base.css";
import "./ui/app.css";

const root = document.getElementById("root");
if (!root) throw new Error("index.html has no #root");

createRoot(root).render(
  <StrictMode>
    <Provider value={client}>
      <Router base="/app">
        <App />
      </Router>
    </Provider>
  </StrictMode>,
);
