/** Duty: one entry of a worker's history as a line: `12  12:00:01  run 3  received input: {"folder":"docs"}`. */
import { isObject } from '../../core/check/is-object.ts'
import type { CancelledEntry, Entry } from '../../core/history/entry.ts'
import { decodeMail, inputPositionOf } from '../../core/worker/message/message.ts'
import { count } from '../amounts.ts'
import { configurationText } from '../configuration-text.ts'
import { formatDuration, formatTime } from '../duration.ts'
import { escapeLine } from '../text/escape.ts'
import { chatLine } from './chat-line.ts'
import { failureCause, failureSentence, messageLine, valueLine } from './message-line.ts'

export function entryLine(position: number, entry: Entry): string {
  const run = entry.run === undefined ? '' : `  run ${entry.run}`
  // An entry that another program overwrote has no time, and a message from elsewhere may have none.
  const time = typeof entry.at === 'number' && entry.at > 0 ? formatTime(entry.at) : '--:--:--'
  return `${String(position).padStart(4)}  ${time}${run}  ${escapeLine(entryWords(entry))}`
}

/** What an entry says, without its head. */
export function entryWords(entry: Entry): string {
  return `${takenOverText(entry)}${readableText(entry)}`
}

/** `taken over by node n-1 (start 2, after its node was killed): received …` */
function takenOverText({ takenOver }: Entry): string {
  if (!isObject(takenOver)) return ''
  const { start, node, lastWords } = takenOver
  const words = typeof lastWords === 'string' ? `; last words: ${lastWords}` : ''
  return `taken over by node ${node} (start ${start}${words}): `
}

/** Another program may have written over any part of an entry. Then the entry is shown as it is stored, and the others after it too. */
function readableText(entry: Entry): string {
  try {
    return entryText(entry)
  } catch {
    return `cannot be read: ${valueLine(entry)}`
  }
}

function cancelledText({ dropped, onCancel }: CancelledEntry): string {
  if (dropped) {
    const { message } = decodeMail('inbox', inputPositionOf(dropped.id) ?? 0, dropped.mail)
    return `cancelled before it received ${messageLine(message)}`
  }
  if (onCancel === undefined) return 'cancelled'
  const { reason, sent = [], failure } = onCancel
  const ended = failure === undefined ? 'onCancel has ended' : `onCancel failed: ${failureSentence(failure)}`
  const sends = sent.length === 0 ? '' : `, and sent to ${sent.join(', ')}`
  return `cancelled (${valueLine(reason)}): ${ended}${sends}`
}

function entryText(entry: Entry): string {
  switch (entry.type) {
    case 'received':
      return `received ${messageLine(entry.message)}${entry.interrupted ? ', and was interrupted' : ''}${requestsText(entry)}`
    case 'step':
      return `step ${entry.name} returned ${valueLine(entry.value)}`
    case 'completed':
      return `completed: ${valueLine(entry.value)}`
    case 'failed':
      return `failed: ${failureSentence(entry.failure)}`
    case 'attemptFailed':
      return `attempt ${entry.failure.attempt} failed, next in ${formatDuration(entry.retryMs)}: ${failureCause(entry.failure)}`
    case 'cancelled':
      return cancelledText(entry)
    case 'retried':
      return retriedText(entry)
    case 'compacted':
      return `compacted: before ${entry.firstKept} prompts hold a summary by ${entry.model}: ${valueLine(entry.text)}`
    case 'cleared':
      return `cleared: before ${entry.firstKept} prompts hold notes for ${count(entry.results, 'long result')}`
    case 'expanded':
      return 'expanded: the last summary was taken back, or what was cleared last'
    case 'ordered':
      return `ordered to ${entry.order.do}${entry.order.do === 'compact' && entry.order.instruction ? `: ${valueLine(entry.order.instruction)}` : ''}`
    case 'configured':
      return `configured: ${configurationText(entry)}`
    case 'orderRefused':
      return `order refused: ${valueLine(entry.reason)}`
    case 'undone':
      return `undone: no prompt holds what stands from position ${entry.from} up to here`
    case 'redone':
      return 'redone: what was undone last counts again'
    case 'system':
    case 'user':
    case 'assistant':
    case 'toolResult':
    case 'error':
    case 'summary':
    case 'toolStarted':
    case 'delegated':
    case 'asked':
    case 'askWithdrawn':
    case 'callsDecided':
    case 'hooked':
    case 'subCallStarted':
    case 'subCall':
    case 'blank':
      return chatLine(entry)
    default:
      // A newer version of troupe wrote this entry.
      return JSON.stringify(entry satisfies never)
  }
}

function retriedText({ reopened = [], messageId }: Extract<Entry, { type: 'retried' }>): string {
  const what = messageId === undefined ? reopened.join(', ') || 'the model call' : `message ${messageId}`
  return `retried: goes on with ${what}`
}

/** What the worker asked for while it received a message: children, messages, timers, answers. */
function requestsText({ spawned, sent, timers, asks }: Extract<Entry, { type: 'received' }>): string {
  const parts = [
    spawned && `spawned ${spawned.map(({ kind, name }) => (name === kind ? kind : `${kind} ${name}`)).join(', ')}`,
    sent && `sent ${count(sent.length, 'message')}`,
    timers &&
      `set ${timers.length === 1 ? 'a timer' : `${timers.length} timers`} (${timers.map(({ ms }) => formatDuration(ms)).join(', ')})`,
    asks && `asked ${asks.map(({ question }) => valueLine(question)).join('; ')}`,
  ].filter((part) => part !== undefined)
  return parts.length === 0 ? '' : `; ${parts.join('; ')}`
}
