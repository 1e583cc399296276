import type { Migration } from '../dialect.ts'
import { initial } from './initial/initial.ts'

/**
 * The schema, as steps that only go forward, the same for all drivers; the step at index n leads
 * to version n + 1. A released step is never edited.
 */
export const MIGRATIONS: readonly Migration[] = [initial]
