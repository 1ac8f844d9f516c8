/** Duty: show what an edit changes in a JSON value, before it is sent: what is removed and what is added, each where it stands. */
import { type ReactNode, useMemo } from 'react'
import { Text } from './text.tsx'
import { changesBetween, type Piece } from './value-changes.ts'

export function Changes({ before, after }: { readonly before: unknown; readonly after: unknown }): ReactNode {
  const changes = useMemo(() => changesBetween(before, after), [before, after])
  return (
    <section className="changes" aria-label="What you change">
      <h3>What you change</h3>
      <dl className="facts">
        {changes.map(({ path, pieces }) => (
          <div key={path} className="key-row">
            <dt className="mono">
              <Text text={path} isLine />
            </dt>
            <dd>
              <pre>
                {pieces.map((piece, at) => (
                  // biome-ignore lint/suspicious/noArrayIndexKey: pieces of one change never move
                  <PieceText key={at} piece={piece} />
                ))}
              </pre>
            </dd>
          </div>
        ))}
      </dl>
    </section>
  )
}

function PieceText({ piece: { text, of } }: { readonly piece: Piece }): ReactNode {
  const shown = <Text text={text} />
  if (of === 'before') return <del>{shown}</del>
  return of === 'after' ? <ins>{shown}</ins> : shown
}
