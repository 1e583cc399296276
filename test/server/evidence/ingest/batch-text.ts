import {
  FIRST_PREVIOUS,
  type BatchHeader,
  type BatchLine,
  type UploadedRecord,
} from '@palisade/protocol'
import { gzipSync } from 'node:zlib'
import type { RawBody } from '../../../../server/src/http/body/raw-body.ts'

export const HASH = 'a'.repeat(64)

export const HEADER: BatchHeader = { boot: 'b1', first: 1, previous: FIRST_PREVIOUS }

export function recordOf(members: Partial<UploadedRecord> = {}): UploadedRecord {
  return {
    time: '2026-11-21T08:00:00.000Z',
    point: 'proxy',
    protocol: 'connect',
    decision: 'deny',
    reason: 'default_deny',
    rules: [],
    request: { action: 'connect:tcp', host: 'example.com', port: 443 },
    revision: 3,
    count: 1,
    ...members,
  }
}

/** Lines with these records, from the first number on. */
export function linesOf(records: readonly UploadedRecord[], first = 1): BatchLine[] {
  return records.map((record, index) => ({ seq: first + index, hash: HASH, record }))
}

export function textOf(header: unknown, lines: readonly unknown[]): string {
  return [header, ...lines].map((line) => `${JSON.stringify(line)}\n`).join('')
}

/** A body as a machine sends it. */
export function bodyOf(text: string | Uint8Array, members: Partial<RawBody> = {}): RawBody {
  return {
    bytes: gzipSync(text),
    maxBytes: 1024 * 1024,
    tooLarge: false,
    contentType: 'application/x-ndjson',
    contentEncoding: 'gzip',
    ...members,
  }
}
