import type { ReactNode } from "react";

/**
 * The three marks of Markdown that matter in a transcript: fenced code, `code` and **bold**. Anything
 * else stays as it was written; text never becomes HTML.
 */
export function RichText({ text }: { text: string }) {
  const blocks = text.split(/^```[^\n]*\n([\s\S]*?)\n?```$/m);
  return (
    <div className="prose">
      {blocks.map((block, index) =>
        index % 2 === 1 ? (
          <pre key={index}>{block}</pre>
        ) : (
          block.trim() && <p key={index}>{inline(block.trim())}</p>
        ),
      )}
    </div>
  );
}

function inline(text: string): ReactNode[] {
  return text.split(/(`[^`\n]+`|\*\*[^*\n]+\*\*)/).map((part, index) => {
    if (part.startsWith("`") && index % 2 === 1)
      return <code key={index}>{part.slice(1, -1)}</code>;
    if (part.startsWith("**") && index % 2 === 1)
      return <strong key={index}>{part.slice(2, -2)}</strong>;
    return part;
  });
}
