import Sqlite from 'better-sqlite3'
import { parentPort, workerData } from 'node:worker_threads'
import type { CheckpointRequest, CheckpointWorkerData } from './store/sqlite/checkpoints.ts'

const { path } = workerData as CheckpointWorkerData
const database = new Sqlite(path, { fileMustExist: true, timeout: 0 })
// FULL: SQLite syncs the log before it changes the database, and the database before it restarts
// the log.
database.pragma('synchronous = FULL')

/** A passive checkpoint blocks neither readers nor the writer. */
function checkpoint(): void {
  try {
    database.pragma('wal_checkpoint(PASSIVE)')
  } catch {
    // A full disk or a replaced file; the server's next commit reports either.
  }
}

parentPort?.on('message', (request: CheckpointRequest) => {
  if (request === 'checkpoint') checkpoint()
  else {
    database.close()
    parentPort?.close()
  }
  parentPort?.postMessage(null, [])
})
