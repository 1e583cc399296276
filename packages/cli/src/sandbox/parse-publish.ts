import type { PublishedPort } from '@palisade/protocol'

export type PublishOutcome =
  | { readonly kind: 'read'; readonly ports: readonly PublishedPort[] }
  /** One line for each fault. */
  | { readonly kind: 'invalid'; readonly problems: readonly string[] }

const MAX_PORT = 65_535
/** Lower ones are those of services of the system, which root alone may open. */
const LEAST_HOST_PORT = 1_024

/** Reads each `PORT` or `HOST_PORT:PORT`. Without `HOST_PORT` both are the same. */
export function parsePublish(texts: readonly string[]): PublishOutcome {
  const ports = new Map<number, PublishedPort>()
  const problems: string[] = []
  for (const text of texts) {
    const read = readOne(text)
    if (typeof read === 'string') problems.push(read)
    else if (ports.has(read.host_port))
      problems.push(`\`--publish ${text}\`: port ${read.host_port} of the machine is given twice`)
    else ports.set(read.host_port, read)
  }
  return problems.length > 0
    ? { kind: 'invalid', problems }
    : { kind: 'read', ports: [...ports.values()] }
}

/** Returns the port, or the fault as one line. */
function readOne(text: string): PublishedPort | string {
  const parts = text.split(':')
  if (parts.length > 2)
    return (
      `\`--publish ${text}\` has an address; a port is published on the loopback of the machine ` +
      'alone, so write `HOST_PORT:PORT`'
    )
  const [host_port = 0, port = host_port] = parts.map(readPort)
  if (host_port === 0 || port === 0)
    return `\`--publish ${text}\` is no port; write it like \`8000\` or \`3000:8000\``
  return host_port < LEAST_HOST_PORT
    ? `\`--publish ${text}\`: port ${host_port} of the machine is reserved; write \`8080:${port}\``
    : { host_port, port }
}

/** 0 for no port. */
function readPort(text: string): number {
  const port = /^[1-9]\d{0,4}$/.test(text) ? Number(text) : 0
  return port <= MAX_PORT ? port : 0
}
