import Sqlite from 'better-sqlite3'
import type { WorkerPort } from '../../platform/start-worker.ts'
import type { CheckpointRequest, CheckpointWorkerData } from './checkpoints.ts'

/** Makes a checkpoint for each message at the port, by a connection of its own. */
export function serveCheckpoints(port: WorkerPort, data: unknown): void {
  const { path } = data as CheckpointWorkerData
  const database = new Sqlite(path, { fileMustExist: true, timeout: 0 })
  // FULL: SQLite syncs the log before it changes the database, and the database before it restarts
  // the log.
  database.pragma('synchronous = FULL')

  port.on('message', (request: CheckpointRequest) => {
    if (request === 'checkpoint') checkpoint()
    else {
      database.close()
      port.close()
    }
    port.postMessage(null, [])
  })

  /** A passive checkpoint blocks neither readers nor the writer. */
  function checkpoint(): void {
    try {
      database.pragma('wal_checkpoint(PASSIVE)')
    } catch {
      // A full disk or a replaced file; the server's next commit reports either.
    }
  }
}
