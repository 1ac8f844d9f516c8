/** Duty: a JSON value for people: indented, foldable where it is long, and only text. */
import { type ReactNode, useState } from 'react'
import { Copy } from './command.tsx'
import { Text } from './text.tsx'

const linesAtFirst = 24
const charsAtFirst = 4_000

export function JsonText({ value }: { readonly value: unknown }): ReactNode {
  return <LongText text={typeof value === 'string' ? value : (JSON.stringify(value, null, 2) ?? 'undefined')} />
}

/** A text; of a long one only the beginning is shown, until somebody wants the rest. */
export function LongText({ text }: { readonly text: string }): ReactNode {
  const [isWhole, setWhole] = useState(false)
  const lines = text.split('\n')
  const isLong = lines.length > linesAtFirst * 1.5 || text.length > charsAtFirst * 1.5
  const shown = isLong && !isWhole ? lines.slice(0, linesAtFirst).join('\n').slice(0, charsAtFirst) : text
  return (
    <div className="long-text">
      <pre>
        <Text text={shown} />
      </pre>
      <div className="long-text-foot">
        {isLong && (
          <button type="button" className="copy" onClick={() => setWhole(!isWhole)}>
            {isWhole
              ? 'show less'
              : `show all ${lines.length > linesAtFirst ? `${lines.length} lines` : `${text.length} characters`}`}
          </button>
        )}
        <Copy text={text} what="text" />
      </div>
    </div>
  )
}
