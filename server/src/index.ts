export { readConfig, type Config } from './config/config.ts'
export { createServer, type Server, type ServerOptions } from './container.ts'
export { openSqliteStore } from './store/sqlite/open-sqlite-store.ts'
export { openEvidenceStore } from './evidence/store/open-evidence-store.ts'
