import type { Random } from '../../../../bench/src/workload/random.ts'
import type { Operation } from '../operations.ts'
import { mutateJson } from './mutate-json.ts'
import {
  HEADER_NAMES,
  HOSTILE_BODIES,
  HOSTILE_HEADERS,
  HOSTILE_SEGMENTS,
  METHODS,
} from './hostile-values.ts'

/** The bytes of a request. */
export interface DrawnRequest {
  readonly bytes: Buffer
  readonly method: string
  /** Whether all parts that determine the route are as in the document. */
  readonly isRouted: boolean
}

export interface Surroundings {
  /** An access token with all permissions. */
  readonly token: string
  /** Returns the encoded value of a path parameter for an existing entity. */
  valueOf(path: string, parameter: string): string
}

/** Draws a request of the operation with at least one deviation. */
export function drawRequest(
  random: Random,
  operation: Operation,
  surroundings: Surroundings,
): DrawnRequest {
  const chance = (share: number): boolean => random.next() < share
  const hasOddMethod = chance(0.05)
  const hasOddPath = chance(0.25)
  const method = hasOddMethod ? random.pick(METHODS) : operation.method
  const path = drawPath(random, operation, surroundings, hasOddPath)
  const query = drawQuery(random, operation)
  const body = operation.body === null && chance(0.9) ? null : drawBody(random, operation)
  const headers = drawHeaders(random, surroundings.token, body)
  const head = `${method} ${path}${query} HTTP/1.1\r\n${headers}\r\n`
  const bytes = Buffer.concat([Buffer.from(head, 'latin1'), body ?? Buffer.alloc(0)])
  return { bytes, method, isRouted: !hasOddMethod && !hasOddPath }
}

function drawPath(
  random: Random,
  { path }: Operation,
  { valueOf }: Surroundings,
  isOdd: boolean,
): string {
  const filled = path.replaceAll(/\{(\w+)\}/g, (_whole, name: string) => valueOf(path, name))
  if (!isOdd) return filled
  const segments = filled.split('/')
  const index = 1 + random.integer(segments.length - 1)
  segments[index] = random.pick(HOSTILE_SEGMENTS)
  return segments.join('/')
}

/** Draws a query, nearly always an invalid one for DELETE, so that the entities stay. */
function drawQuery(random: Random, { method, parameters }: Operation): string {
  const known = parameters.filter((parameter) => parameter.in === 'query').map(({ name }) => name)
  const names = [...known, 'unknown', 'page_size', '__proto__', '']
  const count = Math.max(0, random.integer(6) - 3) + (method === 'DELETE' ? 1 : 0)
  const pairs = Array.from({ length: count }, () => {
    return `${random.pick(names)}=${random.pick(HOSTILE_SEGMENTS)}`
  })
  return pairs.length === 0 ? '' : `?${pairs.join('&')}`
}

function drawBody(random: Random, { example }: Operation): Buffer {
  const good = JSON.stringify(example ?? {})
  return random.weighted([
    [6, () => Buffer.from(JSON.stringify(mutateJson(random, example ?? {})))],
    [2, () => Buffer.from(random.pick(HOSTILE_BODIES))],
    [2, () => flipBytes(random, Buffer.from(good))],
    [1, () => Buffer.from(good.slice(0, random.integer(good.length + 1)))],
    [1, () => Buffer.from(good, 'utf16le')],
    [3, () => Buffer.from(good)],
  ])()
}

function flipBytes(random: Random, bytes: Buffer): Buffer {
  for (let flips = 1 + random.integer(3); flips > 0; flips -= 1)
    bytes[random.integer(bytes.length)] = random.integer(256)
  return bytes
}

function drawHeaders(random: Random, token: string, body: Buffer | null): string {
  const lines = ['Host: x', 'Connection: close', `Authorization: Bearer ${token}`]
  if (body !== null) lines.push('Content-Type: application/json', `Content-Length: ${body.length}`)
  for (let odd = Math.max(0, random.integer(6) - 3); odd > 0; odd -= 1) {
    const line = `${random.pick(HEADER_NAMES)}: ${random.pick(HOSTILE_HEADERS)}`
    // Replaces a valid header, or is added to it.
    if (random.next() < 0.3) lines[random.integer(lines.length)] = line
    else lines.push(line)
  }
  return lines.map((line) => `${line}\r\n`).join('')
}
