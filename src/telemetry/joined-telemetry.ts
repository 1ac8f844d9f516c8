/** Duty: make one telemetry port of several. */
import type { Telemetry } from '../core/ports/telemetry.ts'

/** Undefined for none, so that a node without telemetry reports nothing at all. */
export function joinedTelemetry(ports: readonly Telemetry[]): Telemetry | undefined {
  if (ports.length < 2) return ports[0]
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
