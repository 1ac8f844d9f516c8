/**
 * Duty: a form for a value that a JSON Schema describes.
 * FORM-1 It makes it easy to write a value that fits. Whether it fits, the server decides.
 * FORM-2 A value for which it has no field is written as JSON. A form around it is not sent while that JSON cannot be read.
 */
import { type ReactNode, useId, useState } from 'react'
import { isObject } from '../../../core/check/is-object.ts'
import { escapeLine } from '../../../words/text/escape.ts'
import { Text } from '../text/text.tsx'

export type Schema = Readonly<Record<string, unknown>>

interface FieldProps {
  readonly schema: Schema
  readonly value: unknown
  readonly onChange: (value: unknown) => void
  readonly label: string
  readonly isRequired?: boolean
}

/** It must stand in a `form`. */
export function SchemaForm(props: Omit<FieldProps, 'label'> & { readonly label?: string }): ReactNode {
  return <Field label="Value" isRequired {...props} />
}

/** A value to begin with. A number and one of several words are left to the reader: nothing is chosen by a slip. */
export function emptyValue(schema: Schema): unknown {
  if ('default' in schema) return schema.default
  switch (typeOf(schema)) {
    case 'object':
      return Object.fromEntries(requiredOf(schema).map((name) => [name, emptyValue(propertiesOf(schema)[name] ?? {})]))
    case 'array':
      return []
    case 'boolean':
      return false
    case 'number':
    case 'integer':
    case 'enum':
      return undefined
    case 'string':
      return ''
    case 'json':
      return null
  }
}

type FieldType = 'object' | 'array' | 'string' | 'number' | 'integer' | 'boolean' | 'enum' | 'json'

function typeOf(schema: Schema): FieldType {
  const { type } = schema
  if (Array.isArray(schema.enum) && schema.enum.every((one) => typeof one === 'string')) return 'enum'
  if (type === 'object' && isObject(schema.properties)) return 'object'
  if (type === 'array' && isObject(schema.items)) return 'array'
  if (type === 'string' || type === 'number' || type === 'integer' || type === 'boolean') return type
  return 'json'
}

function propertiesOf(schema: Schema): Readonly<Record<string, Schema>> {
  return schema.properties as Readonly<Record<string, Schema>>
}

function requiredOf(schema: Schema): readonly string[] {
  return Array.isArray(schema.required) ? (schema.required as readonly string[]) : []
}

function Field(props: FieldProps): ReactNode {
  switch (typeOf(props.schema)) {
    case 'object':
      return <ObjectField {...props} />
    case 'array':
      return <ArrayField {...props} />
    case 'boolean':
      return <BooleanField {...props} />
    case 'enum':
      return <EnumField {...props} />
    case 'number':
    case 'integer':
      return <NumberField {...props} />
    case 'string':
      return <StringField {...props} />
    case 'json':
      return <JsonField {...props} />
  }
}

function Label({
  label,
  schema,
  isRequired,
  id,
  children,
}: FieldProps & { readonly id: string; readonly children: ReactNode }): ReactNode {
  const { description } = schema
  return (
    <div className="labelled">
      <label className="label" htmlFor={id}>
        <Text text={label} isLine />
        {isRequired !== true && ' (may be left out)'}
        {typeof description === 'string' && (
          <>
            {' – '}
            <Text text={description} isLine />
          </>
        )}
      </label>
      {children}
    </div>
  )
}

function ObjectField({ schema, value, onChange, label }: FieldProps): ReactNode {
  const fields = isObject(value) ? value : {}
  const required = requiredOf(schema)
  const set = (name: string, next: unknown) => {
    const { [name]: _before, ...others } = fields
    onChange(next === undefined ? others : { ...others, [name]: next })
  }
  return (
    <fieldset className="form-object">
      <legend className="spoken">
        <Text text={label} isLine />
      </legend>
      {Object.entries(propertiesOf(schema)).map(([name, part]) => (
        <Field
          key={name}
          label={name}
          schema={part}
          value={fields[name]}
          isRequired={required.includes(name)}
          onChange={(next) => set(name, next)}
        />
      ))}
    </fieldset>
  )
}

function ArrayField({ schema, value, onChange, label }: FieldProps): ReactNode {
  const items = Array.isArray(value) ? (value as readonly unknown[]) : []
  const part = schema.items as Schema
  return (
    <fieldset className="form-object">
      <legend className="label">
        <Text text={label} isLine />
      </legend>
      {items.map((item, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: an item is known by its place alone
        <div key={index} className="form-item">
          <Field
            label={`${index + 1}`}
            schema={part}
            value={item}
            isRequired
            onChange={(next) => onChange(items.with(index, next))}
          />
          <button
            type="button"
            className="copy"
            aria-label={`Remove item ${index + 1}`}
            onClick={() => onChange(items.toSpliced(index, 1))}
          >
            ✕
          </button>
        </div>
      ))}
      <button type="button" className="button" onClick={() => onChange([...items, emptyValue(part)])}>
        Add
      </button>
    </fieldset>
  )
}

function BooleanField({ value, onChange, label, schema }: FieldProps): ReactNode {
  return (
    <label
      className="check"
      title={typeof schema.description === 'string' ? escapeLine(schema.description) : undefined}
    >
      <input type="checkbox" checked={value === true} onChange={({ target }) => onChange(target.checked)} />
      <Text text={label} isLine />
    </label>
  )
}

function EnumField(props: FieldProps): ReactNode {
  const id = useId()
  const { schema, value, onChange, isRequired } = props
  return (
    <Label {...props} id={id}>
      <select
        id={id}
        className="field"
        required={isRequired === true}
        value={typeof value === 'string' ? value : ''}
        onChange={({ target }) => onChange(target.value === '' ? undefined : target.value)}
      >
        {(isRequired !== true || value === undefined) && <option value="">–</option>}
        {(schema.enum as readonly string[]).map((one) => (
          <option key={one} value={one}>
            {escapeLine(one)}
          </option>
        ))}
      </select>
    </Label>
  )
}

function NumberField(props: FieldProps): ReactNode {
  const id = useId()
  const { value, onChange, schema, isRequired } = props
  return (
    <Label {...props} id={id}>
      <input
        id={id}
        className="field"
        type="number"
        required={isRequired === true}
        step={schema.type === 'integer' ? 1 : 'any'}
        value={typeof value === 'number' ? value : ''}
        onChange={({ target }) => onChange(target.value === '' ? undefined : Number(target.value))}
      />
    </Label>
  )
}

function StringField(props: FieldProps): ReactNode {
  const id = useId()
  const { value, onChange, isRequired } = props
  const text = typeof value === 'string' ? value : ''
  return (
    <Label {...props} id={id}>
      <textarea
        id={id}
        className="field"
        rows={Math.min(8, Math.max(1, text.split('\n').length))}
        value={text}
        onChange={({ target }) => onChange(target.value === '' && isRequired !== true ? undefined : target.value)}
      />
    </Label>
  )
}

function JsonField(props: FieldProps): ReactNode {
  const id = useId()
  const { value, onChange } = props
  const [written, setWritten] = useState('')
  const text = textOf(value, written)
  const read = parsed(text)
  return (
    <Label {...props} id={id}>
      <textarea
        id={id}
        className="field mono"
        rows={Math.min(12, Math.max(2, text.split('\n').length))}
        aria-invalid={read === unreadable && text !== ''}
        value={text}
        placeholder="JSON"
        onChange={({ target }) => {
          setWritten(target.value)
          const next = parsed(target.value)
          target.setCustomValidity(next === unreadable && target.value !== '' ? 'This is no JSON.' : '')
          onChange(next === unreadable ? undefined : next)
        }}
      />
    </Label>
  )
}

/** What the reader has written, as long as it stands for the value: with an item of a list removed, another value moves into the field. */
function textOf(value: unknown, written: string): string {
  const read = parsed(written)
  const isOfValue = read === unreadable ? value === undefined : JSON.stringify(read) === JSON.stringify(value)
  if (isOfValue) return written
  return value === undefined ? '' : JSON.stringify(value, null, 2)
}

const unreadable = Symbol('unreadable')

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return unreadable
  }
}
