/** Duty: how many dead letters a command has handled, and what became of them, in words. */
import { count } from '../../../words/amounts.ts'

/** `5000 dead letters: 999 put back, 4001 refused.` Undefined for one, which its row says. `past`: what has become of those that were handled now. */
export function handledText(done: readonly { readonly status: string }[], past: string): string | undefined {
  if (done.length < 2) return undefined
  const many = (is: (status: string) => boolean) => done.filter(({ status }) => is(status)).length
  const [again, refused] = [many((status) => status === 'again'), many((status) => status === 'refused')]
  const parts = [
    [done.length - again - refused, past],
    [again, `${past} before`],
    [refused, 'refused'],
  ] as const
  const some = parts.filter(([number]) => number > 0).map(([number, what]) => `${number} ${what}`)
  return `${count(done.length, 'dead letter')}: ${some.join(', ')}.`
}
