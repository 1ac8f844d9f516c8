/** Duty: describe one field of a record in a table: its form, the value that it has if it is absent, and how its text is read. */
import { keptPermissions } from '../../core/worker/permissions.ts'
import type { RecordFields } from '../script/replies.ts'

type Form = Pick<RegExp, 'test'>

export interface Field<Value> {
  /** The name in the hash. */
  readonly name: string
  /** The text for which an absent field stands; null if there is none. */
  readonly absent: string | null
  /** Every record must have it. */
  readonly isRequired: boolean
  readonly form: Form
  readonly absentValue: Value
  /** Must not throw, even if the text does not fit the form. */
  decode(text: string): Value
}

/** A field that stands for this text if it is absent. */
export function withDefault<Value>(
  name: string,
  absent: string,
  form: Form,
  decode: (text: string) => Value,
): Field<Value> {
  return { name, absent, isRequired: false, form, absentValue: decode(absent), decode }
}

/** A field without a default. If it is absent, its value is null or `absentValue`. */
export function optional<Value, Absent = null>(
  name: string,
  form: Form,
  decode: (text: string) => Value,
  absentValue: Absent = null as Absent,
): Field<Value | Absent> {
  return { name, absent: null, isRequired: false, form, absentValue, decode }
}

/** A field that every record must have. If it is gone, its value is `absentValue`. */
export function required<Value>(
  name: string,
  form: Form,
  absentValue: Value,
  decode: (text: string) => Value,
): Field<Value> {
  return { name, absent: null, isRequired: true, form, absentValue, decode }
}

export function oneOf(words: readonly string[]): Form {
  return { test: (text) => words.includes(text) }
}

export const wholeNumber = /^\d+$/
export const anyText: Form = { test: () => true }

/** A field that counts. */
export function counter(name: string, absent = '0'): Field<number> {
  return withDefault(name, absent, wholeNumber, Number)
}

export function flag(name: string): Field<boolean> {
  return withDefault(name, '0', oneOf(['0', '1']), (text) => text === '1')
}

// biome-ignore lint/suspicious/noExplicitAny: a table holds fields of every type.
export type FieldTable = Readonly<Record<string, Field<any>>>
export type Decoded<Table extends FieldTable> = {
  readonly [Name in keyof Table]: Table[Name] extends Field<infer Value> ? Value : never
}

/** A field that another program wrote over or removed: its name, and its text if it has one. */
export interface FieldDamage {
  readonly field: string
  readonly text: string | undefined
}

/** The damaged fields, among those of the table. */
export function damageIn(table: FieldTable, fields: RecordFields): FieldDamage[] {
  const found: FieldDamage[] = []
  for (const { name, form, isRequired } of Object.values(table)) {
    const text = fields[name]
    if (text === undefined ? isRequired : !form.test(text)) found.push({ field: name, text })
  }
  return found
}

/** Decodes every field of the table. A damaged field is read as if it were absent. */
export function decodeFields<Table extends FieldTable>(
  table: Table,
  fields: RecordFields,
  damage: readonly FieldDamage[] = [],
): Decoded<Table> {
  const decoded: Record<string, unknown> = {}
  for (const property in table) {
    const field = table[property] as Table[typeof property]
    const text = fields[field.name]
    const isRead = text !== undefined && !damage.some((one) => one.field === field.name)
    decoded[property] = isRead ? field.decode(text) : field.absentValue
  }
  return decoded as Decoded<Table>
}

/** A sentence that names the field and its hash. */
export function damageText({ field, text }: FieldDamage, where: string): string {
  if (field === 'permissions' && text !== undefined && keptPermissions.test(text))
    return `field permissions of ${where} names some that its session does not have`
  return `field ${field} of ${where} should ${text === undefined ? 'be there' : `not be ${JSON.stringify(text.slice(0, 40))}`}`
}
