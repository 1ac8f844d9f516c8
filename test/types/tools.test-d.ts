/** Types of tools: what `run` and `recipe` get follows from the schema, and one of the two is there. */
import { expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import type { ChatMessage, IterationContext, Json, Resolution, Tool } from '../../src/index.ts'
import { defineTool, defineWorker } from '../../src/index.ts'

const look = defineTool({
  name: 'look',
  description: 'Looks.',
  effect: 'pure',
  input: z.object({ at: z.string() }),
  run: ({ at }, { workerId }) => {
    expectTypeOf(at).toEqualTypeOf<string>()
    expectTypeOf(workerId).toEqualTypeOf<string>()
  },
})

test('a recipe gets the arguments that its schema returns, and needs neither run nor effect', () => {
  const report = defineTool({
    name: 'report',
    description: 'Reports.',
    input: z.object({ on: z.string() }),
    recipe: ({ on }) => {
      expectTypeOf(on).toEqualTypeOf<string>()
      return {
        serial: [{ tool: look, arguments: { at: on } }],
        parallel: [{ tool: 'look', arguments: (serial) => ({ at: serial.look ?? null }), label: 'again' }],
        compose: ({ serialResults, errors }) => {
          expectTypeOf(serialResults[0]?.output).toEqualTypeOf<Json | undefined>()
          expectTypeOf(errors[0]?.error).toEqualTypeOf<string | undefined>()
          return serialResults.length
        },
      }
    },
  })
  expectTypeOf(report).toEqualTypeOf<Tool>()
})

test('a tool without run and without recipe is an error', () => {
  // @ts-expect-error -- nothing says what it does
  const nothing = defineTool({ name: 'look', description: 'Looks.', effect: 'pure' })
  // @ts-expect-error -- a tool with run says its effect
  defineTool({ name: 'look', description: 'Looks.', run: () => 1 })
  expectTypeOf(nothing).toEqualTypeOf<Tool>()
})

test('an agent takes a list of tools, or a resolver', () => {
  defineWorker({ instructions: 'x', tools: [look] })
  defineWorker({
    instructions: 'x',
    tools: {
      availableTools: () => [look],
      resolve: ({ toolName }, { log }): Resolution => {
        log.info(toolName)
        return toolName === 'look' ? look : { refuse: 'no' }
      },
      dispatchRecipe: () => null,
    },
    onIteration: (context) => {
      expectTypeOf(context).toEqualTypeOf<IterationContext>()
      // @ts-expect-error -- it is read-only
      context.iteration = 1
      if (context.decision.type === 'continue')
        expectTypeOf(context.decision.messages).toEqualTypeOf<readonly ChatMessage[]>()
    },
  })
  // @ts-expect-error -- a resolver says what a call means
  defineWorker({ instructions: 'x', tools: { availableTools: () => [look] } })
})
