/** Types of what `followEvents` of `troupe/http` yields. */
import { expectTypeOf, test } from 'vitest'
import type { StreamedEvent } from '../../src/http/index.ts'
import type { Entry } from '../../src/index.ts'

test('the type of a streamed event determines the type of its data', () => {
  const read = ({ type, data }: StreamedEvent) => {
    if (type === 'text.delta') expectTypeOf(data.details.text).toEqualTypeOf<string>()
    if (type === 'history.entry') expectTypeOf(data.entry).toEqualTypeOf<Entry>()
    // @ts-expect-error: not every event is one of text
    return data.details.text
  }
  expectTypeOf(read).parameter(0).toEqualTypeOf<StreamedEvent>()
})
