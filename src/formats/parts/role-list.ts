/** Duty: what the formats have in common that are lists of messages with a role: finding the list, and telling such formats apart. */
import { isObject } from '../../core/check/is-object.ts'
import type { Source } from '../source.ts'
import type { Foreign } from './foreign.ts'

/** The messages of a request, of a list, or of JSON lines; `name`: of the field that holds them. */
export function messagesIn(source: Source, name = 'messages'): readonly Foreign[] {
  const { whole, lines } = source
  if (whole === null || whole.isList) return lines
  if (whole.has(name)) return whole.field(name).items()
  // The source is a single message.
  if (whole.has('role', 'type')) return [whole]
  throw whole.wrong(`has no list "${name}".`)
}

/** The items as plain values, for looking at them; none if this is something else. */
export function looked(source: Source, name = 'messages'): readonly Readonly<Record<string, unknown>>[] {
  const { whole, lines } = source
  const value = whole?.value
  const items: unknown = isObject(value)
    ? Array.isArray(value[name])
      ? value[name]
      : [value]
    : lines.map((line) => line.value)
  return Array.isArray(items) ? items.slice(0, 1_000).filter(isObject) : []
}

/** True if there is at least one item and each has one of these roles. */
export function haveRoles(items: readonly Readonly<Record<string, unknown>>[], roles: readonly string[]): boolean {
  return items.length > 0 && items.every(({ role }) => typeof role === 'string' && roles.includes(role))
}

/** True if these are messages of texts alone, at least one of them in blocks: many formats would write them so. */
export function areTextBlocks(items: readonly Readonly<Record<string, unknown>>[]): boolean {
  const isText = (block: unknown) => isObject(block) && block.type === 'text' && typeof block.text === 'string'
  return (
    haveRoles(items, ['system', 'user', 'assistant']) &&
    items.some(({ content }) => Array.isArray(content)) &&
    items.every(
      ({ content, tool_calls, function_call }) =>
        tool_calls === undefined &&
        function_call === undefined &&
        (typeof content === 'string' || (Array.isArray(content) && content.every(isText))),
    )
  )
}

/** The fields of the whole as an object; empty if it is none. */
export function wholeOf({ whole }: Source): Readonly<Record<string, unknown>> {
  return isObject(whole?.value) ? whole.value : {}
}

/** The content blocks of all items, as plain values. */
export function blocksOf(
  items: readonly Readonly<Record<string, unknown>>[],
  name = 'content',
): readonly Readonly<Record<string, unknown>>[] {
  return items.flatMap((item) => (Array.isArray(item[name]) ? (item[name] as unknown[]).filter(isObject) : []))
}
