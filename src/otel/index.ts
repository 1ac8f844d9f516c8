/** The entry `troupe/otel`: OpenTelemetry. It alone loads `@opentelemetry/api`. */
export { type OpenTelemetryOptions, openTelemetry } from './telemetry.ts'
export { TurnIds } from './turn-ids.ts'
