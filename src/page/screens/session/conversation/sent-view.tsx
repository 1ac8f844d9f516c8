/** Duty: the conversation as the model of an agent gets it: after summaries, cleared results and what was taken back. */
import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import type { PromptMessage } from '../../../../core/definition/model.ts'
import { tokensText } from '../../../../words/amounts.ts'
import { get } from '../../../api/http.ts'
import { Waiting } from '../../../parts/state/empty.tsx'
import { JsonText } from '../../../parts/text/json.tsx'
import { Text } from '../../../parts/text/text.tsx'

/** The part of the answer that the page needs. */
interface SentContext {
  readonly prompt: readonly PromptMessage[]
  readonly tokens: number
  readonly isCompacted: boolean
}

export function SentView({ workerId, length }: { readonly workerId: string; readonly length: number }): ReactNode {
  const query = useQuery({
    queryKey: ['context', workerId, length],
    queryFn: ({ signal }) => get<SentContext>(`workers/${workerId}/context`, { signal }),
  })
  const { prompt = [], tokens = 0, isCompacted = false } = query.data ?? {}
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls by keyboard
    <section className="messages" tabIndex={0} aria-label="What its model gets">
      <Waiting query={query} what="what its model gets" />
      {query.data !== undefined && (
        <p className="muted">
          About {tokensText(tokens)} tokens
          {isCompacted && ', with a summary in place of what came before'}. The instructions of its kind and its tools
          come on top.
        </p>
      )}
      {prompt.map((message, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: parts of one prompt never move
        <article key={index} className="item">
          <div className="item-head">
            <strong>{message.role}</strong>
          </div>
          {message.role === 'tool' ? (
            message.results.map(({ toolCallId, toolName, output }) => (
              <div key={toolCallId}>
                <h3 className="mono">
                  <Text text={toolName} isLine />
                </h3>
                <JsonText value={output.value} />
              </div>
            ))
          ) : (
            <JsonText value={shortest(message.content)} />
          )}
        </article>
      ))}
    </section>
  )
}

/** A single text block is shown as its text. */
function shortest(content: unknown): unknown {
  if (!Array.isArray(content) || content.length !== 1) return content
  const [block] = content as readonly { readonly type?: string; readonly text?: string }[]
  return block?.type === 'text' ? block.text : content
}
