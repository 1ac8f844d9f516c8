/** Duty: a command for the terminal, and a button that copies it. */
import { type ReactNode, useState } from 'react'
import { Text } from './text.tsx'

export function Command({ text }: { readonly text: string }): ReactNode {
  return (
    <span className="command">
      <code>
        <Text text={text} isLine />
      </code>
      <Copy text={text} what="command" />
    </span>
  )
}

export function Copy({ text, what }: { readonly text: string; readonly what: string }): ReactNode {
  const [isCopied, setCopied] = useState(false)
  const onClick = () => {
    copyText(text)
    setCopied(true)
    setTimeout(() => setCopied(false), 1_500)
  }
  return (
    <button type="button" className="copy" onClick={onClick} aria-label={`Copy the ${what}`}>
      {isCopied ? 'copied' : 'copy'}
    </button>
  )
}

/** The clipboard of the browser exists only over https and on this machine. */
function copyText(text: string): void {
  if (navigator.clipboard !== undefined) {
    void navigator.clipboard.writeText(text).catch(() => copyBySelection(text))
    return
  }
  copyBySelection(text)
}

function copyBySelection(text: string): void {
  const area = document.createElement('textarea')
  area.value = text
  document.body.append(area)
  area.select()
  // oxlint-disable-next-line typescript/no-deprecated -- the only way over plain http
  document.execCommand('copy')
  area.remove()
}

/** A short form of an id, with a button that copies the whole id. */
export function Id({ id }: { readonly id: string }): ReactNode {
  return (
    <span className="mono muted" title={id}>
      {id.length > 13 ? `${id.slice(0, 8)}…${id.slice(-4)}` : id}
      <Copy text={id} what="id" />
    </span>
  )
}
