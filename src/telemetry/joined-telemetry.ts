/**
 * Duty: make one telemetry port of several.
 * JOINED-1 A port that throws keeps no other from its reports (TELEMETRY-1).
 */
import { noTelemetry, safeTelemetry, type Telemetry } from '../core/ports/telemetry.ts'

/** One port for all of these. Without any, it is the port that does nothing: a node without telemetry reports nothing at all. */
export function joinedTelemetry(given: readonly Telemetry[]): Telemetry {
  const ports = given.map(safeTelemetry)
  if (ports.length < 2) return ports[0] ?? noTelemetry
  return {
    startSpan(name, attributes) {
      const spans = ports.map((port) => port.startSpan(name, attributes))
      return {
        end(more) {
          for (const span of spans) span.end(more)
        },
      }
    },
    count(name, by, attributes) {
      for (const port of ports) port.count(name, by, attributes)
    },
    logFields: (workerId) => Object.assign({}, ...ports.map((port) => port.logFields?.(workerId))),
  }
}
