/** Duty: what a table of fields says of one: which texts it may hold, what it says where it is absent, and how its text is read. */
import type { RecordFields } from '../script/replies.ts'

type Form = Pick<RegExp, 'test'>

export interface Field<Value> {
  /** Its name in the hash. */
  readonly name: string
  /** The text that an absent field stands for; null: none does. */
  readonly absent: string | null
  /** May a record be without it? */
  readonly isRequired: boolean
  readonly form: Form
  readonly absentValue: Value
  /** Of a text that does not fit the form it need not make sense, and must not throw. */
  decode(text: string): Value
}

/** A field that stands for this text where it is absent. */
export function withDefault<Value>(
  name: string,
  absent: string,
  form: Form,
  decode: (text: string) => Value,
): Field<Value> {
  return { name, absent, isRequired: false, form, absentValue: decode(absent), decode }
}

/** A field that says nothing where it is absent: then its value is null, or another that is given here. */
export function optional<Value, Absent = null>(
  name: string,
  form: Form,
  decode: (text: string) => Value,
  absentValue: Absent = null as Absent,
): Field<Value | Absent> {
  return { name, absent: null, isRequired: false, form, absentValue, decode }
}

/** A field that every record has; this is read where it is gone. */
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

/** A field that is counted up. */
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

/** A field that is not what it should be, since another program wrote it: its name, and its text where there is one. */
export interface FieldDamage {
  readonly field: string
  readonly text: string | undefined
}

/** Those of this table. */
export function damageIn(table: FieldTable, fields: RecordFields): FieldDamage[] {
  const found: FieldDamage[] = []
  for (const { name, form, isRequired } of Object.values(table)) {
    const text = fields[name]
    if (text === undefined ? isRequired : !form.test(text)) found.push({ field: name, text })
  }
  return found
}

/** Each field of the table, decoded; those that are damaged are read as if they were absent. */
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

/** What is wrong with a field of the hash that `where` names. */
export function damageText({ field, text }: FieldDamage, where: string): string {
  return `field ${field} of ${where} should ${text === undefined ? 'be there' : `not be ${JSON.stringify(text.slice(0, 40))}`}`
}
