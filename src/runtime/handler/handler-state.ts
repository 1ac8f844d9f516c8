/**
 * Duty: the state of a handler worker during one turn: what the next receive sees, read-only, and its JSON.
 * HANDLER-STATE-1 What one receive did to its state, other than by setState, no other receive sees.
 */
import { fitTo } from '../../core/check/schema-problems.ts'
import type { HandlerDefinition } from '../../core/definition/define-worker.ts'
import { InputError } from '../../core/errors.ts'
import type { Assignment } from '../../core/ports/ports.ts'
import { readOnly } from '../../core/read-only.ts'

export class HandlerState {
  readonly #assignment: Pick<Assignment, 'workerId' | 'kind'>
  readonly #definition: Pick<HandlerDefinition, 'state' | 'initial'>
  /** Null until the first setState of the worker's life. */
  #json: string | null
  #read: { readonly json: string | null; readonly value: unknown } | undefined

  constructor(
    assignment: Pick<Assignment, 'workerId' | 'kind' | 'stateJson'>,
    definition: Pick<HandlerDefinition, 'state' | 'initial'>,
  ) {
    this.#assignment = assignment
    this.#definition = definition
    this.#json = assignment.stateJson
  }

  /** The state as the next receive sees it. */
  get json(): string | null {
    return this.#json
  }

  /** Undefined keeps the state. */
  set(json: string | undefined): void {
    this.#json = json ?? this.#json
  }

  /** The state that this JSON stands for. Throws an InputError if it does not fit the schema of the kind. */
  read(json: string | null): unknown {
    if (this.#read?.json === json) return this.#read.value
    const value = readOnly(this.#parse(json))
    // What a schema returned may hold an instance of a class, which is not read-only: the next receive gets a new one.
    this.#read = this.#definition.state === undefined ? { json, value } : undefined
    return value
  }

  #parse(json: string | null): unknown {
    const { state: schema, initial } = this.#definition
    try {
      const raw: unknown = json === null ? copyOf(initial ?? null) : JSON.parse(json)
      if (!schema) return raw
      const fit = fitTo(schema, raw)
      if (fit.ok) return fit.value
      throw new Error(fit.reasons.join('; '), { cause: fit.thrown })
    } catch (cause) {
      const { workerId, kind } = this.#assignment
      const why = cause instanceof Error ? cause.message : String(cause)
      throw new InputError(`the state of worker ${workerId} does not fit ${kind}: ${why}`, { cause })
    }
  }
}

function copyOf(value: unknown): unknown {
  return typeof value === 'object' && value !== null ? structuredClone(value) : value
}
