const sameYear = new Intl.DateTimeFormat(undefined, {
  day: "numeric",
  month: "short",
  hour: "2-digit",
  minute: "2-digit",
});
const otherYear = new Intl.DateTimeFormat(undefined, { dateStyle: "medium" });

/** A moment as people write it; exact in the tooltip. */
export function Time({ at }: { at: number }) {
  const date = new Date(at);
  const format = date.getFullYear() === new Date().getFullYear() ? sameYear : otherYear;
  return (
    <time dateTime={date.toISOString()} title={date.toLocaleString()}>
      {format.format(date)}
    </time>
  );
}
