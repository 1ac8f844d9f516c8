/**
 * Duty: foreign text on the page: names, messages, results, errors.
 * TEXT-1 Foreign text becomes text nodes and nothing else. What a reader cannot see, or what reorders what they see, is shown as `\u{200b}`. In a title,
 *        which takes no nodes, it is escaped.
 */
import type { ReactNode } from 'react'
import { escapeLine, piecesOf } from '../../../words/text/escape.ts'

/** `isLine`: a line break, too, is shown as `\n`. */
export function Text({ text, isLine = false }: { readonly text: string; readonly isLine?: boolean }): ReactNode {
  return piecesOf(text, isLine).map((piece, index) =>
    typeof piece === 'string' ? (
      piece
    ) : (
      // biome-ignore lint/suspicious/noArrayIndexKey: pieces of one text never move
      <span key={index} className="unseen">
        {piece.unseen}
      </span>
    ),
  )
}

/** A text in one line, which is cut where there is no room; the whole of it is its title. */
export function Line({ text, className = '' }: { readonly text: string; readonly className?: string }): ReactNode {
  return (
    <span className={`cut ${className}`} title={text.length > 40 ? escapeLine(text) : undefined}>
      <Text text={text} isLine />
    </span>
  )
}
