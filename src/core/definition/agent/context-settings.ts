/** Duty: define what a model is told in addition to what was said, and check the form of these settings. */
import { didYouMean } from '../../check/closest.ts'
import { isObject } from '../../check/is-object.ts'
import { preview } from '../../check/preview.ts'
import { ConfigError } from '../../errors.ts'
import type { HookSelf } from './iteration-context.ts'

/** Returns a text for the model, or nothing. It may take 30 s; if it fails, it is left out. */
export type ContextFact = (this: void, self: HookSelf) => string | null | undefined | Promise<string | null | undefined>

export interface ContextSettings {
  /**
   * Files of the worker's folder, by paths and globs (`docs/*.md`, `**` for folders at any depth), or as `file:` URLs. They stand before the conversation, are read again when they
   * change, and are not stored. A file that cannot be read is left out, and logged once.
   */
  readonly files?: readonly string[]
  /** How many files are read at most. Default 50. */
  readonly filesMax?: number
  /** How many bytes of a file are read: of a longer file only the beginning. Default 50 000. */
  readonly fileBytesMax?: number
  /** How many bytes of all files are read at most: further files are left out. Default 200 000. */
  readonly bytesMax?: number
  /** Each input says when it came: day of the week, date, time and offset. Default: false. */
  readonly time?: boolean
  /** Texts that go with each input, by name, from functions. They are recorded with it. */
  readonly facts?: Readonly<Record<string, ContextFact>>
}

const names = ['files', 'filesMax', 'fileBytesMax', 'bytesMax', 'time', 'facts'] as const
const mosts = { filesMax: 1_000, fileBytesMax: 1_000_000, bytesMax: 4_000_000 } as const
const patternMost = 1_000
const patternsMost = 1_000

/** Throws a ConfigError that names the wrong setting. */
export function checkContext(context: unknown): void {
  if (context === undefined) return
  if (!isObject(context))
    throw new ConfigError(`context must be an object, like context: { files: ['README.md'] }, not ${preview(context)}.`)
  for (const name of Object.keys(context)) {
    if (names.some((known) => known === name)) continue
    const advice = didYouMean(name, names)
    throw new ConfigError(`context does not know ${JSON.stringify(name)}; it takes ${names.join(', ')}.${advice}`)
  }
  const { files, time, facts } = context
  const areFiles = (list: unknown) =>
    Array.isArray(list) &&
    list.length <= patternsMost &&
    list.every((one) => typeof one === 'string' && one !== '' && one.length <= patternMost)
  if (files !== undefined && !areFiles(files))
    throw new ConfigError(`context.files must be a list of paths and globs: files: ['README.md', 'docs/**/*.md'].`)
  for (const [name, most] of Object.entries(mosts)) {
    const value = context[name]
    if (value !== undefined && !(Number.isInteger(value) && Number(value) >= 1 && Number(value) <= most))
      throw new ConfigError(`context.${name} must be a whole number from 1 to ${most}, not ${preview(value)}.`)
  }
  if (time !== undefined && typeof time !== 'boolean')
    throw new ConfigError(`context.time must be true or false, not ${preview(time)}.`)
  if (facts !== undefined && !(isObject(facts) && Object.values(facts).every((one) => typeof one === 'function')))
    throw new ConfigError('context.facts must be functions by name: facts: { branch: () => currentBranch() }.')
}
