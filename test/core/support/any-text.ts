/** Texts of any UTF-16 units: control characters, tabs, line ends, lone surrogates. And JSON values that hold such texts. */
import fc from 'fast-check'

export const anyText = fc
  .array(fc.oneof(fc.integer({ min: 0, max: 0xffff }), fc.constantFrom(9, 10, 0xd800, 0xdc00, 0x2028)))
  .map((units) => String.fromCharCode(...units))

export const anyJson = fc.oneof(
  fc.jsonValue(),
  anyText,
  fc.dictionary(anyText, anyText),
  fc.array(fc.oneof(anyText, fc.double(), fc.constant(null), fc.boolean())),
)

/** What a value is after it was written as JSON and read: -0 is 0, undefined is gone. */
export function asJson(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value))
}
