/** A tool is checked when it is defined, and the error names the tool and the field. */
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { z as zodThree } from 'zod/v3'
import { defineTool, isTool, type ToolDefinition } from '../../../../src/core/definition/tool/define-tool.ts'
import { ConfigError } from '../../../../src/core/errors.ts'

const run = () => 'seen'
const fields = { name: 'look', description: 'Looks.', effect: 'pure', run } as const
const define = (tool: unknown) => defineTool(tool as ToolDefinition)

describe('defineTool', () => {
  test('returns a frozen tool that isTool recognises', () => {
    const tool = defineTool(fields)
    expect(isTool(tool)).toBe(true)
    expect(Object.isFrozen(tool)).toBe(true)
    expect(tool).toMatchObject(fields)
  })

  test('accepts all documented fields', () => {
    const full = {
      ...fields,
      effect: 'once',
      input: z.object({ path: z.string() }),
      timeoutMs: 2_147_483_647,
      outputBytesMax: 1_000_000,
      thread: 'file:///a/tool.ts',
      reconcile: async () => ({ done: false }),
      approval: (input: { path: string }) => input.path !== '',
      dangerous: true,
    }
    expect(isTool(define(full))).toBe(true)
    expect(isTool(define({ ...fields, timeoutMs: 1, outputBytesMax: 1 }))).toBe(true)
  })

  test.each(['a', 'read_file', 'Read-2', 'x'.repeat(64)])('%s is a valid name', (name) => {
    expect(define({ ...fields, name }).name).toBe(name)
  })

  test.each([
    [undefined, 'undefined is not'],
    ['', '"" is not'],
    ['a b', '"a b" is not'],
    ['é', '"é" is not'],
    ['x'.repeat(65), `"${'x'.repeat(65)}" is not`],
    [7, '7 is not'],
  ])('%j is not a valid name', (name, message) => {
    expect(() => define({ ...fields, name })).toThrow(ConfigError)
    expect(() => define({ ...fields, name })).toThrow(`${message} a valid name of a tool`)
  })

  test.each([
    ['nothing', undefined],
    ['null', null],
    ['a function', run],
  ])('%s throws a ConfigError that says what defineTool takes', (_, tool) => {
    expect(() => define(tool)).toThrow(ConfigError)
    expect(() => define(tool)).toThrow('defineTool takes an object with name, description, effect and run.')
  })

  test.each([
    ['a name of ours', { name: 'spawn_workers' }, /tool "spawn_workers": this name is reserved/],
    ['the other name of ours', { name: 'send_message' }, /tool "send_message": this name is reserved/],
    [
      'an unknown field',
      { approve: true },
      /tool "look": defineTool does not know the field "approve"; it takes name, /,
    ],
    [
      'a field that is nearly one',
      { timeoutMS: 5 },
      /does not know the field "timeoutMS"; .* Did you mean timeoutMs\?$/,
    ],
    [
      'a timeout that is no number at all',
      { timeoutMs: 1n },
      /timeoutMs must be a whole number from 1 to \d+, not 1n\.$/,
    ],
    ['no description', { description: undefined }, /tool "look": it needs a description/],
    ['an empty description', { description: '' }, /tool "look": it needs a description/],
    ['no run', { run: 'x' }, /tool "look": it needs a run function/],
    ['no effect', { effect: undefined }, /tool "look": effect says what may happen after a crash/],
    ['an unknown effect', { effect: 'twice' }, /tool "look": effect says what may happen after a crash/],
    ['a reconcile that is none', { effect: 'once', reconcile: true }, /tool "look": reconcile must be a function/],
    ['a reconcile that is never asked', { reconcile: run }, /only a tool of effect "once" has a reconcile function/],
    ['a thread that is no URL', { thread: './tool.ts' }, /thread must be the URL of the module that exports the tool/],
    [
      'a thread that is no text',
      { thread: true },
      /tool "look": thread must be the URL of the module that exports the tool/,
    ],
    ['an input that is no schema', { input: { path: 'string' } }, /tool "look": input must be a zod schema/],
    ['an input that is null', { input: null }, /tool "look": input must be a zod schema, .*, not null\.$/],
    [
      'an input of zod 3',
      { input: zodThree.object({}) },
      /tool "look": input is a schema of zod 3, but must be one of zod 4: npm install zod@4$/,
    ],
    [
      'an approval that is none',
      { approval: 'ask' },
      /approval must be "never", "always" or a function .*, not "ask"\.$/,
    ],
    ['an approval that is a yes', { approval: true }, /tool "look": approval must be "never", "always" or a function/],
    ['a danger that is a text', { dangerous: 'yes' }, /dangerous must be true or false, not "yes"\.$/],
    [
      'a danger that nobody is asked about',
      { dangerous: true, approval: 'never' },
      /tool "look": a dangerous tool is asked about each time/,
    ],
    ['no time', { timeoutMs: 0 }, /timeoutMs must be a whole number from 1 to 2147483647, not 0/],
    ['more time than timers hold', { timeoutMs: 2 ** 31 }, /timeoutMs must be a whole number/],
    ['half a byte', { outputBytesMax: 0.5 }, /outputBytesMax must be a whole number from 1 to 1000000, not 0\.5/],
    ['too much output', { outputBytesMax: 1_000_001 }, /outputBytesMax must be a whole number/],
  ])('a tool with %s throws a ConfigError that names it', (_, more, message) => {
    expect(() => define({ ...fields, ...more })).toThrow(ConfigError)
    expect(() => define({ ...fields, ...more })).toThrow(message)
  })
})

test('isTool accepts only tools that defineTool made', () => {
  for (const value of [fields, null, undefined, 'look', run]) expect(isTool(value)).toBe(false)
})
