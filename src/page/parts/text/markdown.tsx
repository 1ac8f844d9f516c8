/**
 * Duty: Markdown of models as elements.
 * MARKDOWN-1 Nothing becomes HTML by itself: HTML in a text is shown as it is written. A link goes to http(s) alone. An image is a link, and is not loaded.
 */
import type { Token, Tokens } from 'marked'
import { Fragment, type ReactNode, useMemo } from 'react'
import { escapeLine } from '../../../words/text/escape.ts'
import { tokensOf } from './markdown-tokens.ts'
import { Text } from './text.tsx'

export function Markdown({ text }: { readonly text: string }): ReactNode {
  const tokens = useMemo(() => tokensOf(text), [text])
  if (tokens === null)
    return (
      <pre>
        <Text text={text} />
      </pre>
    )
  return <div className="prose">{blocks(tokens)}</div>
}

function blocks(tokens: readonly Token[]): ReactNode {
  // biome-ignore lint/suspicious/noArrayIndexKey: parts of one text never move
  return tokens.map((token, index) => <Fragment key={index}>{block(token)}</Fragment>)
}

function block(token: Token): ReactNode {
  switch (token.type) {
    case 'space':
    case 'def':
      return null
    case 'heading': {
      const Heading = `h${Math.min(6, (token as Tokens.Heading).depth + 2)}` as 'h3'
      return <Heading>{inside(token)}</Heading>
    }
    case 'paragraph':
      return <p>{inside(token)}</p>
    case 'blockquote':
      return <blockquote>{blocks((token as Tokens.Blockquote).tokens)}</blockquote>
    case 'code':
      return (
        <pre className="code">
          <Text text={(token as Tokens.Code).text} />
        </pre>
      )
    case 'hr':
      return <hr />
    case 'list':
      return list(token as Tokens.List)
    case 'table':
      return table(token as Tokens.Table)
    default:
      return inline(token)
  }
}

function list({ ordered, start, items }: Tokens.List): ReactNode {
  const inner = items.map((item, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: parts of one text never move
    <li key={index}>
      {item.task && <input type="checkbox" checked={item.checked === true} disabled aria-label="done" />}
      {blocks(item.tokens)}
    </li>
  ))
  return ordered ? <ol start={start === '' ? 1 : start}>{inner}</ol> : <ul>{inner}</ul>
}

function table({ header, rows }: Tokens.Table): ReactNode {
  const cells = (row: readonly Tokens.TableCell[], Cell: 'th' | 'td') =>
    // biome-ignore lint/suspicious/noArrayIndexKey: parts of one text never move
    row.map(({ tokens }, index) => <Cell key={index}>{inlines(tokens)}</Cell>)
  return (
    <div className="table-wrap">
      <table>
        <thead>
          <tr>{cells(header, 'th')}</tr>
        </thead>
        <tbody>
          {rows.map((row, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: parts of one text never move
            <tr key={index}>{cells(row, 'td')}</tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

function inside(token: Token): ReactNode {
  const { tokens } = token as { readonly tokens?: readonly Token[] }
  return tokens === undefined ? <Text text={textOf(token)} /> : inlines(tokens)
}

function inlines(tokens: readonly Token[]): ReactNode {
  // biome-ignore lint/suspicious/noArrayIndexKey: parts of one text never move
  return tokens.map((token, index) => <Fragment key={index}>{inline(token)}</Fragment>)
}

function inline(token: Token): ReactNode {
  switch (token.type) {
    case 'strong':
      return <strong>{inside(token)}</strong>
    case 'em':
      return <em>{inside(token)}</em>
    case 'del':
      return <del>{inside(token)}</del>
    case 'br':
      return <br />
    case 'codespan':
      return (
        <code>
          <Text text={textOf(token)} />
        </code>
      )
    case 'link':
    case 'image':
      return link(token as Tokens.Link | Tokens.Image)
    case 'text':
      return inside(token)
    case 'escape':
      return <Text text={textOf(token)} />
    default:
      return <Text text={token.raw} />
  }
}

function link(token: Tokens.Link | Tokens.Image): ReactNode {
  const label = token.type === 'image' ? <Text text={`image: ${token.text || token.href}`} isLine /> : inside(token)
  if (!/^https?:\/\//i.test(token.href)) return label
  return (
    <a href={token.href} target="_blank" rel="noopener noreferrer nofollow" title={escapeLine(token.href)}>
      {label}
    </a>
  )
}

function textOf(token: Token): string {
  return 'text' in token && typeof token.text === 'string' ? token.text : token.raw
}
