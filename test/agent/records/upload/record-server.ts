import {
  UPLOAD_TYPE,
  batchHeaderSchema,
  batchLineSchema,
  type BatchHeader,
  type BatchLine,
  type RecordPosition,
} from '@palisade/protocol'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { gunzipSync } from 'node:zlib'
import { DEVICE_TOKEN, startPolicyServer, type PolicyServer } from '../../fixture/policy-server.ts'

export interface ReceivedBatch {
  readonly header: BatchHeader
  readonly lines: readonly BatchLine[]
  /** Header and lines as they came. */
  readonly text: string
}

type Answer = (response: ServerResponse, batch: ReceivedBatch | null) => void

export interface RecordServer {
  readonly policyServer: PolicyServer
  readonly url: string
  /** Batches that were committed. */
  readonly batches: ReceivedBatch[]
  /** `GET` and `POST`, in order, with the time of each. */
  readonly asked: { readonly method: string; readonly atMs: number }[]
  position: RecordPosition | null
  /** Answers to the next batches, in order, in place of a commit and a receipt. */
  readonly next: Answer[]
  /** Answers everything while it is set. */
  always: Answer | null
  commit(batch: ReceivedBatch): void
  answer(request: IncomingMessage, response: ServerResponse): void
  /** `boot seq` of each committed line on disk, including those that were left out. */
  covered(): string[]
}

/** Serves the route of decision records as its description says; throws for another request. */
export async function startRecordServer(): Promise<RecordServer> {
  const policyServer = await startPolicyServer()
  const server: RecordServer = {
    policyServer,
    url: policyServer.url,
    batches: [],
    asked: [],
    position: null,
    next: [],
    always: null,
    commit(batch) {
      const last = batch.lines.at(-1)
      if (last === undefined) throw new Error('a batch without lines')
      server.batches.push(batch)
      server.position = { boot: batch.header.boot, seq: last.seq, hash: last.hash }
    },
    answer(request, response) {
      void answer(server, request, response)
    },
    covered: () => server.batches.flatMap(coveredBy),
  }
  policyServer.answer = server.answer
  return server
}

export function giveReceipt(response: ServerResponse, position: unknown): void {
  sendJson(response, 200, { position })
}

export function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

async function answer(
  server: RecordServer,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  const { method = '', url, headers } = request
  if (url !== '/api/v1/device/records') throw new Error(`unexpected ${url}`)
  if (headers.authorization !== `DPoP ${DEVICE_TOKEN}` || headers['dpop'] === undefined)
    throw new Error('no proof of the device')
  server.asked.push({ method, atMs: performance.now() })
  const batch = method === 'POST' ? readBatch(headers, Buffer.concat(chunks)) : null
  const given = server.always ?? (batch === null ? undefined : server.next.shift())
  if (given !== undefined) return given(response, batch)
  if (batch !== null) server.commit(batch)
  giveReceipt(response, server.position)
}

function readBatch(headers: IncomingMessage['headers'], body: Buffer): ReceivedBatch {
  if (headers['content-type'] !== UPLOAD_TYPE || headers['content-encoding'] !== 'gzip')
    throw new Error(`sent as ${headers['content-type']}, ${headers['content-encoding']}`)
  const text = gunzipSync(body).toString()
  const [first = '', ...lines] = text.split('\n').slice(0, -1)
  return {
    header: batchHeaderSchema.parse(JSON.parse(first)),
    lines: lines.map((line) => batchLineSchema.parse(JSON.parse(line))),
    text,
  }
}

function coveredBy({ header, lines }: ReceivedBatch): string[] {
  const names: string[] = []
  let next = header.first
  for (const line of lines) {
    // Lines in front of it stayed on the machine.
    if (!('left_out' in line)) next = line.seq
    for (; next <= line.seq; next += 1) names.push(`${header.boot} ${next}`)
  }
  return names
}
