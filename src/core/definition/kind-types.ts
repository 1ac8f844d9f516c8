/**
 * Duty: what a definition says of its kind to those who create, spawn or send: its name, the types of its input and its result, and
 * whether an input fits.
 * KIND-1 Whoever checks an input asks here, so that a wrong one is refused in the same words where it is created, spawned and received.
 * KIND-2 Kinds by name (`Kinds`) are for the compiler alone. Without them every name is accepted. With them, a literal that names none of them is an
 *        error of the compiler; a text whose value the compiler does not know is always accepted, such as the kind of another program.
 */
import type { z } from 'zod'
import { type Fit, fitTo } from '../check/schema-problems.ts'
import { InputError } from '../errors.ts'
import { parseKind } from '../ids.ts'
import type { DeepReadonly } from '../read-only.ts'
import type { Message, ResultMessage } from '../worker/message/message.ts'

export const definitionMark = Symbol.for('troupe.worker')

/** Nothing is stored under it: it holds types only. */
declare const types: unique symbol

/** A definition of whatever sort, with what its kind takes (`Given`) and returns (`Result`). */
export interface Definition<Given = unknown, Result = unknown> {
  readonly [definitionMark]: true
  readonly kind?: string
  readonly input?: z.ZodType
  /** A method, because the arguments of methods are compared in both directions: so each definition is also a `Definition`. */
  readonly [types]?: { of(input: Given): Result }
}

/**
 * The definition of each kind, by name. `troupe kinds --types` writes a declaration that fills it:
 *
 *     declare module 'troupe' {
 *       interface Kinds { reader: typeof import('./workers/reader.js').default }
 *     }
 */
// biome-ignore lint/suspicious/noEmptyInterface: declarations of users fill it
export interface Kinds {}

export type KindName = Extract<keyof Kinds, string>

/** What the kind of this name takes. */
export type GivenOf<Name extends KindName> =
  Kinds[Name] extends Definition<infer Given, infer _Result> ? Given : unknown

/** A name of a kind of the project; any name if nothing declares them. */
export type KnownName = [KindName] extends [never] ? string : KindName

/** What the kind of this name, or of this definition, takes. */
export type TakenBy<Kind extends string | Definition> =
  (Kind extends KindName ? Kinds[Kind] : Kind) extends Definition<infer Given, infer _Result> ? Given : unknown

/** What the kind of this name returns. */
export type ReturnedBy<Name extends KindName> =
  Kinds[Name] extends Definition<infer _Given, infer Result> ? Result : unknown

/** A name that says nothing of its kind. */
export type FreeName<Name extends string> = [KindName] extends [never] ? string : string extends Name ? string : never

/** A spawned child, or any other worker to which messages may be sent. `Given`: what its kind takes. */
export interface WorkerRef<Given = unknown> {
  readonly id: string
  readonly name: string
  readonly kind: string
  readonly [types]?: { of(input: Given): void }
}

/** The result of a child whose definition is known. */
export type ResultOf<Result> = ResultMessage<DeepReadonly<Result>> & {
  /** Without it, the compiler would take any failed result for one of this kind, and a later branch would no longer see it. */
  readonly [types]: Result
}

export function isDefinition(value: unknown): value is Definition {
  return typeof value === 'object' && value !== null && definitionMark in value
}

/**
 * True if the message is the result of a child of this kind; `message.value` then has the type of its result:
 *
 *     if (isResultOf(message, reader) && message.status === 'completed') self.reply(message.value.title)
 */
export function isResultOf<Result>(message: Message, definition: Definition<never, Result>): message is ResultOf<Result>
/** The same by the name of a kind of the project (`troupe kinds --types`). */
export function isResultOf<Name extends KindName>(message: Message, name: Name): message is ResultOf<ReturnedBy<Name>>
export function isResultOf(message: Message, kind: Definition | string): boolean {
  return message.kind === 'result' && message.workerKind === kindNamed(kind, 'isResultOf')
}

/** The kind of this name, or of this definition. `call`: what got it, for the error. */
export function kindNamed(kind: string | Definition, call: string): string {
  if (!isDefinition(kind)) return parseKind(kind)
  if (kind.kind !== undefined) return kind.kind
  throw new InputError(
    `${call} got a definition without a kind: give it the name under which nodes host it, defineWorker({ kind: 'reader', … }), or pass that name.`,
  )
}

/** The input as the schema of the kind returns it. Without a schema every input fits. */
export function fitInput<Value>(
  { input }: { readonly input?: z.ZodType<Value> | undefined },
  kind: string,
  value: unknown,
): { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly problem: InputError } {
  const fit: Fit<unknown> = input === undefined ? { ok: true, value } : fitTo(input, value)
  if (fit.ok) return fit
  const problem = `the input of ${kind} does not fit its schema: ${fit.reasons.join('; ')}`
  return { ok: false, problem: new InputError(problem, { cause: fit.thrown }) }
}

/** Throws an InputError if this input, as JSON, does not fit the definition. A name alone says nothing of what fits. */
export function checkInput(definition: string | Definition, kind: string, inputJson: string): void {
  if (!isDefinition(definition) || definition.input === undefined) return
  const fit = fitInput(definition, kind, JSON.parse(inputJson))
  if (!fit.ok) throw fit.problem
}
