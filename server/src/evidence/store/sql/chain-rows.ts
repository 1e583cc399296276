import type { RecordPosition } from '@palisade/protocol'
import type { Connection } from '../../../store/sql/connection.ts'
import { StoreError } from '../../../store/store-error.ts'
import type { DeviceChain } from '../evidence-record.ts'
import type { EvidenceBatch } from '../evidence-store.ts'

interface ChainRow {
  readonly device_id: string
  readonly boot: string
  readonly seq: number
  readonly hash: string
  readonly earlier: string
  readonly gaps: number
  readonly forks: number
  readonly rewinds: number
  readonly marked_ms: number | null
  readonly lost: number
  readonly left_out: number
  readonly received_ms: number
}

export interface ChainReader {
  find(deviceId: string): Promise<DeviceChain | null>
}

export function createChainReader(connection: Connection): ChainReader {
  const find = connection.prepare<ChainRow>('SELECT * FROM chains WHERE device_id = ?')
  return {
    async find(deviceId) {
      const row = await find.get(deviceId)
      return row === undefined ? null : readChain(row)
    },
  }
}

/**
 * Moves the chain of a batch on, or throws `ERR_STORE_CONFLICT`. PostgreSQL locks the row, so the
 * batches of one device take turns from here on.
 */
export function createMoveChain(
  connection: Connection,
): (org: number, batch: EvidenceBatch) => Promise<void> {
  const insert = connection.prepare(
    `INSERT INTO chains (boot, seq, hash, earlier, gaps, forks, rewinds, marked_ms, lost, left_out,
       received_ms, device_id, org)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
  )
  const update = connection.prepare(
    `UPDATE chains SET boot = ?, seq = ?, hash = ?, earlier = ?, gaps = ?, forks = ?, rewinds = ?,
       marked_ms = ?, lost = ?, left_out = ?, received_ms = ?
     WHERE device_id = ? AND org = ? AND received_ms = ?`,
  )
  return async (org, { device_id, chain, follows }) => {
    const { position, earlier } = chain
    // Of two batches in one millisecond, the second must not pass for the first.
    const receivedMs = Math.max(chain.received_ms, (follows ?? -1) + 1)
    const values = [
      position.boot,
      position.seq,
      position.hash,
      JSON.stringify(earlier),
      chain.gaps,
      chain.forks,
      chain.rewinds,
      chain.marked_ms,
      chain.lost,
      chain.left_out,
      receivedMs,
      device_id,
      org,
    ]
    const moved =
      follows === null ? await insert.run(...values) : await update.run(...values, follows)
    if (moved === 0)
      throw new StoreError(
        'ERR_STORE_CONFLICT',
        `the chain of device \`${device_id}\` has changed since it was read; read it again`,
        { subject: 'other' },
      )
  }
}

function readChain(row: ChainRow): DeviceChain {
  return {
    position: { boot: row.boot, seq: row.seq, hash: row.hash },
    earlier: JSON.parse(row.earlier) as RecordPosition[],
    gaps: row.gaps,
    forks: row.forks,
    rewinds: row.rewinds,
    marked_ms: row.marked_ms,
    lost: row.lost,
    left_out: row.left_out,
    received_ms: row.received_ms,
  }
}
