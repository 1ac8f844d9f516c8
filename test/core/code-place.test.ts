import { describe, expect, it } from 'vitest'
import { codePlaceOf, namePlacesFrom, placeInStack, stackCharsMax, thrownFields } from '../../src/core/code-place.ts'
import { toRuntimeError } from '../../src/core/errors.ts'

namePlacesFrom(['/home/me/app', '/srv/workers/', '/'])

const ours = new URL('../../src/runtime/turn/turn.ts', import.meta.url).href

function thrown(...frames: readonly string[]): Error {
  const error = new Error('it broke')
  error.stack = ['Error: it broke', ...frames.map((frame) => `    at ${frame}`)].join('\n')
  return error
}

describe('the place of an error', () => {
  it.each([
    ['of a function', 'run (file:///home/me/app/workers/a.ts:3:7)', 'workers/a.ts:3:7'],
    ['of a module', 'file:///home/me/app/a.ts:3:7', 'a.ts:3:7'],
    ['of an async function', 'async Object.run (file:///home/me/app/a.ts:3:7)', 'a.ts:3:7'],
    ['of async code without a name', 'async file:///home/me/app/a.ts:3:7', 'a.ts:3:7'],
    ['of a method with another name', 'Object.run [as tool] (/home/me/app/a.cjs:3:7)', 'a.cjs:3:7'],
    ['of a constructor', 'new Thing (file:///home/me/app/a.ts:3:7)', 'a.ts:3:7'],
    ['with a space and a bracket in its path', 'run (/home/me/app/my (old) work/a.cjs:3:7)', 'my (old) work/a.cjs:3:7'],
    ['with escaped characters', 'run (file:///home/me/app/my%20w%C3%B6rk/a.ts:3:7)', 'my wörk/a.ts:3:7'],
    ['with a version behind its name', 'run (file:///home/me/app/a.ts?v=2:3:7)', 'a.ts:3:7'],
    ['below the folder of the workers', 'run (file:///srv/workers/a.ts:3:7)', 'a.ts:3:7'],
    ['elsewhere', 'run (file:///opt/lib/a.ts:3:7)', '/opt/lib/a.ts:3:7'],
  ])('%s is named', (_what, frame, place) => {
    expect(codePlaceOf(thrown(frame, 'later (file:///home/me/app/z.ts:9:9)'))).toBe(place)
  })

  it.each([
    ['troupe', `Turn.run (${ours}:1:1)`],
    ['Node', 'process.processTicksAndRejections (node:internal/process/task_queues:95:5)'],
    ['a package', 'parse (file:///home/me/app/node_modules/zod/index.js:1:1)'],
    ['a function of the language', 'JSON.parse (<anonymous>)'],
    ['evaluated code', 'eval (eval at run (file:///home/me/app/b.ts:1:1), <anonymous>:1:1)'],
    ['code from a URL', 'run (data:text/javascript,x:1:1)'],
  ])('the place of an error is never in %s: the caller in code of users is named, or nothing', (_what, frame) => {
    expect(codePlaceOf(thrown(frame, 'run (file:///home/me/app/a.ts:3:7)'))).toBe('a.ts:3:7')
    expect(codePlaceOf(thrown(frame))).toBeUndefined()
    expect(thrownFields(thrown(frame))).toEqual({})
  })

  it('the stack of an error that only carries another one names no place: in a bundle it would be one of troupe', () => {
    const carrier = toRuntimeError(thrown('run (file:///home/me/app/a.ts:3:7)'))
    carrier.stack = thrown('toRuntimeError (/home/me/app/bundle.cjs:1:1)').stack as string
    expect(codePlaceOf(carrier)).toBe('a.ts:3:7')
  })

  it('the place of an error that troupe made is the place of its cause', () => {
    const cause = thrown('run (file:///home/me/app/a.ts:3:7)')
    const wrapper = Object.assign(thrown(`think (${ours}:1:1)`), { cause })
    expect(codePlaceOf(wrapper)).toBe('a.ts:3:7')
    expect(thrownFields(wrapper).stack).toContain('a.ts:3:7')
  })

  it('the place of an error is not taken from the message', () => {
    const error = new Error('bad\n    at file:///home/me/app/lie.ts:1:1')
    error.stack = `Error: ${error.message}\n    at run (file:///home/me/app/a.ts:3:7)`
    expect(codePlaceOf(error)).toBe('a.ts:3:7')
  })

  it.each([
    ['a text', 'boom'],
    ['nothing', undefined],
    ['an error whose stack is a number', Object.assign(new Error('x'), { stack: 7 })],
    ['an error that is its own cause', selfCaused()],
    ['an object whose fields throw', new Proxy({}, { get: () => JSON.parse('no') })],
  ])('the place of an error is absent, without an error, for %s', (_what, value) => {
    expect(codePlaceOf(value)).toBeUndefined()
    expect(thrownFields(value)).toEqual({})
  })

  it('the place and the stack of an error are short, however long they were', () => {
    expect(placeInStack(`    at run (file:///${'x'.repeat(9_000)}/a.ts:1:1)`)?.length).toBe(300)
    const long = thrown('run (file:///home/me/app/a.ts:3:7)', ...Array<string>(5_000).fill('z (file:///z/z.ts:1:1)'))
    expect(thrownFields(long).stack?.length).toBe(stackCharsMax)
  })
})

function selfCaused(): Error {
  const error = thrown()
  error.cause = error
  return error
}
