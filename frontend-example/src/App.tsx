import { lazy, Suspense } from "react";
import { Link, Route, Switch } from "wouter";
import { useConnection } from "./graphql/socket";
import { useTokenWanted } from "./graphql/token";
import { SearchBox } from "./search/SearchBox";
import { SearchScreen } from "./search/SearchScreen";
import { SessionScreen } from "./session/SessionScreen";
import { SessionsScreen } from "./sessions/SessionsScreen";
import { addressedSession } from "./ui/addresses";
import { Empty, Loading } from "./ui/states";
import { TokenForm } from "./ui/TokenForm";

// React Flow is the largest dependency and one screen needs it: it is loaded with that screen.
const LineageScreen = lazy(async () => ({
  default: (await import("./lineage/LineageScreen")).LineageScreen,
}));

export function App() {
  const tokenWanted = useTokenWanted();
  return (
    <>
      <a className="skip" href="#content">
        Skip to content
      </a>
      <header className="bar">
        <Link href="/" className="brand">
          <img src={`${import.meta.env.BASE_URL}icon.svg`} alt="" width="26" height="26" />
          <span>SessionGraph</span>
        </Link>
        <SearchBox />
        <nav aria-label="Main">
          <Link href="/" className={(active) => (active ? "active" : "")}>
            Sessions
          </Link>
          {/* GraphiQL is another page of the server, outside this app. */}
          <a href="/">GraphiQL</a>
        </nav>
        <ConnectionMark />
      </header>
      <main id="content" tabIndex={-1}>
        {tokenWanted ? (
          <TokenForm />
        ) : (
          <Suspense fallback={<Loading />}>
            <Switch>
              <Route path="/" component={SessionsScreen} />
              <Route path="/search" component={SearchScreen} />
              <Route path="/sessions/:id">
                {() => {
                  const id = addressedSession();
                  return <SessionScreen key={id} id={id} />;
                }}
              </Route>
              <Route path="/sessions/:id/lineage">
                {() => {
                  const id = addressedSession();
                  return <LineageScreen key={id} id={id} />;
                }}
              </Route>
              <Route>
                <div className="page">
                  <Empty title="There is no such page.">
                    <Link href="/">All sessions</Link>
                  </Empty>
                </div>
              </Route>
            </Switch>
          </Suspense>
        )}
      </main>
    </>
  );
}

const CONNECTIONS = {
  idle: { label: "idle", meaning: "Nothing on this screen is followed" },
  connected: { label: "live", meaning: "Changes appear as they happen" },
  lost: { label: "reconnecting", meaning: "Lost the connection; nothing will be missed" },
};

function ConnectionMark() {
  const connection = useConnection();
  const { label, meaning } = CONNECTIONS[connection];
  return (
    <span className={`connection connection-${connection}`} role="status" title={meaning}>
      {label}
    </span>
  );
}
