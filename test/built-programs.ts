import { fileURLToPath } from 'node:url'
import {
  AGENT,
  bundleOf,
  CLI,
  SERVER,
  type BundledProgram,
} from '../packages/launcher/programs.mjs'

/** Arguments for Node that run a program as it ships: its options and its main file. */
export const BUILT_AGENT = argumentsOf(AGENT)
export const BUILT_CLI = argumentsOf(CLI)
export const BUILT_SERVER = argumentsOf(SERVER)

function argumentsOf(program: BundledProgram): readonly string[] {
  const file = new URL(`../${bundleOf(program)}`, import.meta.url)
  return [...program.nodeOptions, fileURLToPath(file)]
}
