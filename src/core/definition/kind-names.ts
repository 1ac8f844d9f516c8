/**
 * Duty: the kinds that a project knows by name, with the types of their inputs and results, for the compiler alone.
 * KIND-NAMES-1 Without names every name is accepted. With names a literal that is none of them is an error of the compiler; a text whose value the
 *              compiler does not know is accepted always, such as the kind of another program.
 */
import type { Definition } from './kind-types.ts'

/**
 * By name, the definition of each kind. `troupe kinds --types` writes a declaration that fills it:
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

/** What the kind of this name returns. */
export type ReturnedBy<Name extends KindName> =
  Kinds[Name] extends Definition<infer _Given, infer Result> ? Result : unknown

/** A name that says nothing of its kind. */
export type FreeName<Name extends string> = [KindName] extends [never] ? string : string extends Name ? string : never
