/** Duty: one item of a conversation: an input, a reply with its calls, or a note. */
import { createContext, memo, type ReactNode, useContext } from 'react'
import type { AssistantBlock, UserBlock } from '../../../../core/history/chat/chat-message.ts'
import { inAndOut } from '../../../../words/amounts.ts'
import { JsonText, LongText } from '../../../parts/text/json.tsx'
import { Markdown } from '../../../parts/text/markdown.tsx'
import { Text } from '../../../parts/text/text.tsx'
import { TimeOfDay } from '../../../parts/text/time.tsx'
import { Branch } from '../worker-actions.tsx'
import { CallCard } from './call-card.tsx'
import type { CallItem, ConversationItem } from './conversation.ts'

/** The agent whose conversation is shown; null for a handler. */
export const ConversationOf = createContext<string | null>(null)

export const Item = memo(function Item({ item }: { readonly item: ConversationItem }): ReactNode {
  switch (item.type) {
    case 'input':
      return <Input item={item} />
    case 'reply':
      return <Reply item={item} />
    case 'call':
      return <CallCard call={item.call} />
    case 'note':
      return <NoteLine item={item} />
  }
})

type Of<Type extends ConversationItem['type']> = { readonly item: Extract<ConversationItem, { type: Type }> }

function Head({
  who,
  item,
  children,
}: {
  readonly who: ReactNode
  readonly item: ConversationItem
  readonly children?: ReactNode
}): ReactNode {
  return (
    <div className="item-head">
      <strong>{who}</strong>
      {children}
      {item.isUndone && <span className="tag warn">taken back</span>}
      <span className="item-place">
        <BranchHere position={item.position} />
        <TimeOfDay at={item.at} /> <span title="position in the history">#{item.position}</span>
      </span>
    </div>
  )
}

/** Only an agent has a conversation to branch off. */
function BranchHere({ position }: { readonly position: number }): ReactNode {
  const workerId = useContext(ConversationOf)
  return workerId === null ? null : <Branch workerId={workerId} position={position} />
}

function Input({ item }: Of<'input'>): ReactNode {
  const { from, name, when, nudge, content, context } = item.message
  const who = nudge === true ? 'troupe' : (name ?? (from === undefined ? 'input' : 'worker'))
  return (
    <article className="item input" data-undone={item.isUndone} data-nudge={nudge === true}>
      <Head who={<Text text={who} isLine />} item={item}>
        {when !== undefined && <span className="tag">{when === 'steer' ? 'steers' : 'interrupts'}</span>}
        {from !== undefined && <span className="tag">from a worker</span>}
        {nudge === true && <span className="tag">asks the model again</span>}
        {item.isPushed && <span className="tag">added from outside</span>}
      </Head>
      {content.map((block, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: blocks of a message never move
        <Block key={index} block={block} />
      ))}
      {context !== undefined && (
        <p className="muted">
          <Text text={context} />
        </p>
      )}
    </article>
  )
}

function Block({ block }: { readonly block: UserBlock }): ReactNode {
  if (block.type === 'text') return <LongText text={block.text} />
  const { type, mediaType, filename, bytes } = block
  return (
    <p className="tag">
      <Text
        text={[type, filename, mediaType, bytes === undefined ? undefined : `${bytes} bytes`]
          .filter(Boolean)
          .join(', ')}
        isLine
      />
    </p>
  )
}

function Reply({ item }: Of<'reply'>): ReactNode {
  const { model, content, finishReason, usage, interrupted } = item.message
  return (
    <article className="item reply" data-undone={item.isUndone}>
      <Head who={<Text text={model} isLine />} item={item}>
        <span className="muted number">{inAndOut(usage.inputTokens, usage.outputTokens)}</span>
        {finishReason !== 'stop' && finishReason !== 'tool-calls' && (
          <span className="tag warn">ended by {finishReason}</span>
        )}
        {interrupted === true && <span className="tag warn">took too long</span>}
      </Head>
      {content.map((block, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: blocks of a message never move
        <ReplyBlock key={index} block={block} calls={item.calls} />
      ))}
    </article>
  )
}

function ReplyBlock({
  block,
  calls,
}: {
  readonly block: AssistantBlock
  readonly calls: readonly CallItem[]
}): ReactNode {
  switch (block.type) {
    case 'text':
      return <Markdown text={block.text} />
    case 'reasoning':
      return <Reasoning text={block.text} />
    case 'tool-call': {
      const call = calls.find(({ id }) => id === block.toolCallId)
      return call === undefined ? null : <CallCard call={call} />
    }
    default:
      return <JsonText value={block} />
  }
}

export function Reasoning({ text, isOpen = false }: { readonly text: string; readonly isOpen?: boolean }): ReactNode {
  if (text.trim() === '') return null
  return (
    <details className="reasoning" open={isOpen}>
      <summary>Reasoning</summary>
      <Markdown text={text} />
    </details>
  )
}

function NoteLine({ item }: Of<'note'>): ReactNode {
  const { tone, text, detail, isDivider } = item
  const line = (
    <>
      <span className="note-text">
        <Text text={text} isLine />
      </span>
      <span className="item-place">
        {item.at > 0 && <TimeOfDay at={item.at} />} <span>#{item.position}</span>
      </span>
    </>
  )
  if (detail === undefined)
    return (
      <div className="note-line" data-tone={tone} data-undone={item.isUndone}>
        {line}
      </div>
    )
  return (
    <details className="note-fold" data-divider={isDivider} data-undone={item.isUndone}>
      <summary className="note-line" data-tone={tone}>
        {line}
      </summary>
      {isDivider && typeof detail === 'string' ? <Markdown text={detail} /> : <JsonText value={detail} />}
    </details>
  )
}
