import type { FrameFragment, ViewFragment } from "../gql/graphql";

/** The latest value of each projection, by key. */
export type Views = ReadonlyMap<string, ViewFragment>;

/**
 * Takes in one frame. A snapshot replaces everything, which is what makes a reconnect simple; of two
 * values of one key the one with the higher seq wins.
 */
export function withFrame(views: Views, frame: FrameFragment): Views {
  if (frame.__typename === "ProjectionSnapshot") {
    return new Map(frame.views.map((view) => [view.key, view]));
  }
  const known = views.get(frame.view.key);
  if (known && known.seq > frame.view.seq) return views;
  return new Map([...views, [frame.view.key, frame.view]]);
}

/** The view of one type, typed. */
export function viewOf<T extends ViewFragment["__typename"]>(
  views: Views,
  type: T,
): Extract<ViewFragment, { __typename: T }> | undefined {
  type View = Extract<ViewFragment, { __typename: T }>;
  return [...views.values()].find((view): view is View => view.__typename === type);
}
