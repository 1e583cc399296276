import type { HookFormat } from '../hook-format.ts'
import { CLAUDE } from './claude.ts'
import { CODEX } from './codex.ts'
import { COPILOT } from './copilot.ts'
import { CURSOR } from './cursor.ts'
import { GEMINI } from './gemini.ts'

/** Every host of `palisade hook`. */
export const HOOK_FORMATS: readonly HookFormat[] = [CLAUDE, CODEX, CURSOR, GEMINI, COPILOT]
