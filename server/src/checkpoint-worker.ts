import Sqlite from 'better-sqlite3'
import { parentPort, workerData } from 'node:worker_threads'
import type { CheckpointRequest, CheckpointWorkerData } from './store/sqlite/checkpoints.ts'

const { path } = workerData as CheckpointWorkerData
const database = new Sqlite(path, { fileMustExist: true, timeout: 0 })
// FULL: the log is on disk before the database is changed, and the database before the log begins
// anew.
database.pragma('synchronous = FULL')

/** Passive: neither readers nor the writer wait for it. */
function checkpoint(): void {
  try {
    database.pragma('wal_checkpoint(PASSIVE)')
  } catch {
    // A full disk, or a file that was put in its place: the commits of the server tell of both.
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
