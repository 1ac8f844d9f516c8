/**
 * Duty: Lua scripts as typed functions. A descriptor names the file, its keys and its arguments; callers pass keys and arguments
 * by name, and the descriptor alone says in which order they are sent. test/lua-headers.test.ts holds file and descriptor together.
 * SCRIPT-1 A script is sent again as a whole after an error that came before its first write (LOADING, READONLY, OOM, TRYAGAIN), and after a
 *     lost connection, until the caller's deadline: no script does harm when it runs twice (docs/protocol.md).
 * SCRIPT-2 In a cluster each call names one more key, which never exists. While a slot is being moved to another server, a server refuses a script if
 *     some of its keys are missing: with this key it refuses every such script, before the script's first command. Nothing else looks at the keys
 *     that scripts build themselves.
 */

import { createHash } from 'node:crypto'
import { performance } from 'node:perf_hooks'
import { setTimeout as pause } from 'node:timers/promises'
import type { WorkerLog } from '../../core/definition/worker-log.ts'
import type { RuntimeError } from '../../core/errors.ts'
import { keyThatIsNever } from '../keys.ts'
import { followsSlot, type Redis, withinRest } from '../redis/redis.ts'
import { lastWord, messageOf, pauseAfter, storeError } from '../redis/store-error.ts'
import { Refusals } from './refusals.ts'
import { functionNameOf, scriptSource } from './script-source.ts'
import { type ScriptNames, ScriptTransport, type Words } from './script-transport.ts'

/** Bytes go to Redis as they are. */
export type Argument = string | number | Buffer

/**
 * What the header of a script may hold: one JSON object with named fields of ours. It is the only JSON that a script decodes: texts of users
 * follow it as arguments of their own, which no script looks into.
 */
export type HeaderValue =
  | string
  | number
  | boolean
  | readonly HeaderValue[]
  | { readonly [name: string]: HeaderValue | undefined }

export interface ScriptDescriptor<
  Key extends string = string,
  Arg extends string = string,
  Field extends string = string,
> {
  readonly file: string
  readonly keys: readonly Key[]
  /** Fields of the JSON header, which is then the first argument. */
  readonly header?: readonly Field[]
  /** The fields of each list or object within the header, by its name. */
  readonly fields?: Readonly<Record<string, readonly string[]>>
  /** Arguments behind the header, if there is one. The last argument may be a list. */
  readonly args: readonly Arg[]
}

export interface Script<Key extends string, Arg extends string, Field extends string>
  extends ScriptDescriptor<Key, Arg, Field>,
    ScriptNames {
  readonly header: readonly Field[]
}

export function defineScript<const Key extends string, const Arg extends string, const Field extends string = never>(
  descriptor: ScriptDescriptor<Key, Arg, Field>,
): Script<Key, Arg, Field> {
  let source: string | undefined
  let sha: string | undefined
  return {
    header: [],
    ...descriptor,
    functionName: functionNameOf(descriptor.file),
    // A Redis that keeps functions needs neither, and the process starts faster without them.
    get source() {
      source ??= scriptSource(descriptor.file)
      return source
    },
    get sha() {
      sha ??= createHash('sha1').update(this.source).digest('hex')
      return sha
    },
  }
}

/** Arguments by name: fields of the header, and what follows it. */
export type ScriptArguments<Arg extends string, Field extends string> = Readonly<
  Record<Field, HeaderValue | undefined>
> &
  Readonly<Record<Arg, Argument | readonly Argument[]>>

/** The reply of Redis; each store method decodes its own. */
export type Reply = (string | number | null | Reply)[]

export class ScriptCaller {
  readonly #transport: ScriptTransport
  readonly #refusals: Refusals
  readonly #isInCluster: boolean

  constructor(redis: Redis, mayUseFunctions?: boolean, log?: WorkerLog, isInCluster = followsSlot(redis)) {
    this.#isInCluster = isInCluster
    this.#transport = new ScriptTransport(redis, mayUseFunctions)
    this.#refusals = new Refusals(log)
  }

  /**
   * Gives up `deadlineMs` after `since`. The script may still run later: what a claim takes then, its slot gets with its next claim. `doing`: what an error
   * says was being done, if the name of the script does not say it.
   */
  async call<Key extends string, Arg extends string, Field extends string>(
    script: Script<Key, Arg, Field>,
    keys: Readonly<Record<Key, string>>,
    args: ScriptArguments<Arg, Field>,
    {
      deadlineMs,
      since = performance.now(),
      doing = script.file,
    }: { readonly deadlineMs: number; readonly since?: number; readonly doing?: string },
  ): Promise<Reply> {
    const words = wordsOf(script, keys, args, this.#isInCluster)
    const give = since + deadlineMs
    let refusal: RuntimeError | undefined
    for (let attempt = 0, way = this.#transport.first; ; attempt++) {
      try {
        const answer = this.#transport.send(way, script, words)
        const reply = await withinRest(answer, deadlineMs, since)
        const next = this.#transport.afterAnswer(way, words)
        if (next === null) {
          this.#refusals.accepted(script.file)
          return reply as Reply
        }
        way = next
      } catch (thrown) {
        const other = this.#transport.afterError(way, messageOf(thrown), words)
        if (other !== null) {
          way = other
          continue
        }
        const error = storeError(thrown, this.#where(doing, words))
        const pauseMs = pauseAfter(attempt)
        if (error.code === 'store_refused') {
          refusal = error
          const isByCommand = way === 'digest' || way === 'source'
          way = 'digest'
          // A full or read-only Redis refuses a function as a whole. Command by command it takes a call that writes nothing, or was recorded before.
          if (!isByCommand && !this.#transport.isOver) continue
          this.#refusals.refused(script.file, error)
        }
        const isTooLate = performance.now() + pauseMs >= give || this.#transport.isOver
        if (!error.retryable || isTooLate) throw lastWord(refusal, error)
        await pause(pauseMs)
      }
    }
  }

  /** In a cluster partitions are at several servers (`troupe partition list` says where each is). */
  #where(doing: string, words: Words): string {
    const partition = this.#isInCluster ? /\.(\d+)\}/.exec(String(words[2]))?.[1] : undefined
    return partition === undefined ? doing : `${doing} in partition ${partition}`
  }
}

function wordsOf<Key extends string, Arg extends string, Field extends string>(
  script: Script<Key, Arg, Field>,
  keys: Readonly<Record<Key, string>>,
  args: ScriptArguments<Arg, Field>,
  isInCluster: boolean,
): Words {
  const words: Words = ['', script.keys.length + (isInCluster ? 1 : 0)]
  for (const name of script.keys) words.push(keys[name])
  if (isInCluster) words.push(keyThatIsNever(keys[script.keys[0] as Key]))
  if (script.header.length > 0) words.push(encodeHeader(script.header, args))
  for (const name of script.args) {
    const value: Argument | readonly Argument[] = args[name]
    if (Array.isArray(value)) {
      for (const item of value) words.push(item)
    } else {
      words.push(value as Argument)
    }
  }
  return words
}

/** The values that the header names, in its order. One that is undefined is left out. */
export function encodeHeader<Name extends string>(
  names: readonly Name[],
  values: { readonly [Each in Name]?: HeaderValue | undefined },
): string {
  const header: Record<string, HeaderValue | undefined> = {}
  for (const name of names) header[name] = values[name]
  const text = JSON.stringify(header)
  // JSON with half of a surrogate pair is refused by Lua's decoder. In any other argument, too, U+FFFD is sent in its place.
  return text.includes('\\ud') ? JSON.stringify(header, wellFormed) : text
}

function wellFormed(_name: string, value: unknown): unknown {
  return typeof value === 'string' ? value.toWellFormed() : value
}
