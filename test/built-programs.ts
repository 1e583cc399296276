import { fileURLToPath } from 'node:url'
import {
  AGENT,
  bundleOf,
  CLI,
  HOLDER,
  SERVER,
  type BundledProgram,
} from '../packages/launcher/programs.mjs'

/** Arguments for Node that run a program as it ships: its options and its main file. */
export const BUILT_AGENT = argumentsOf(AGENT)
export const BUILT_CLI = argumentsOf(CLI)
export const BUILT_SERVER = argumentsOf(SERVER)

/** The program that an agent starts for each sandbox. */
export const BUILT_HOLDER = fileOf(HOLDER)

function argumentsOf(program: BundledProgram): readonly string[] {
  return [...program.nodeOptions, fileOf(program)]
}

function fileOf(program: BundledProgram): string {
  return fileURLToPath(new URL(`../${bundleOf(program)}`, import.meta.url))
}
