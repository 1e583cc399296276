export type { Io } from './runtime/io.ts'
export { run } from './run.ts'
