import { createServer, readConfig } from '../../../server/src/index.ts'
import { openEvidenceStore } from '../../../server/src/evidence/store/open-evidence-store.ts'
import { openDataDirectory } from '../../../server/src/operations/storage/data-directory.ts'
import { systemSources } from '../../../server/src/platform/sources.ts'
import type { Store } from '../../../server/src/store/store.ts'

/** Serializes transactions, so that the store commits one request at a time. */
function serializeTransactions(store: Store): Store {
  let last: Promise<unknown> = Promise.resolve()
  return {
    ...store,
    transaction(work) {
      const result = last.then(() => store.transaction(work))
      last = result.catch(() => undefined)
      return result
    },
  }
}

const config = readConfig(process.env, process.cwd())
const store = openDataDirectory(config.dataDir)
const server = await createServer({
  config,
  sources: systemSources(),
  store: serializeTransactions(store),
  evidence: await openEvidenceStore(config),
  logger: { level: config.logLevel },
})
await server.app.listen({ host: config.host, port: config.port })
process.once('SIGTERM', () => void server.close().then(() => process.exit(0)))
