import { CHOOSE_CARRIED, END_CARRIERS, START_CARRIERS } from './carrier-programs.ts'

/**
 * Signals that the processes around the command ignore, and that it gets back. PIPE and XFSZ are
 * ignored by Node, which executes the trampoline.
 */
export const IGNORED_OUTSIDE = [
  'HUP',
  'INT',
  'QUIT',
  'TERM',
  'USR1',
  'USR2',
  'PIPE',
  'XFSZ',
] as const

/**
 * The program of the supervisor, for any POSIX shell.
 *
 * - A FIFO is opened for reading and writing, which never blocks. The gate then has no end of file,
 *   which bubblewrap would take for the agent's consent.
 * - The supervisor alone keeps descriptor 7 open, until its command has ended. Then it reads from
 *   descriptor 9 what the agent tells of the end; the agent closes it when it has put all in order,
 *   and so does its own end. A signal ends this wait.
 * - A shell can close descriptors 8 and 9 only. It refuses to go on with a higher one.
 * - A limit of the caller that is lower already stays, because it cannot be raised.
 * - A shell within the namespaces is the parent of bubblewrap. nsenter would stop itself when its
 *   child stops, perhaps after both have been continued. The parent of that shell is compared,
 *   because it may have ended before `--pdeathsig`.
 * - At a terminal all processes share one process group, so that it stops, continues and interrupts
 *   all. Elsewhere the command has a session of its own, and cannot signal the caller's group.
 * - The processes around the command ignore the signals that it may handle. A signal is passed on
 *   to the command alone, which is the child of the first process of the sandbox; signal 0 stands
 *   for one that the terminal has sent there already.
 * - A program that follows the command begins once the agent sees the end of the supervisor.
 * - Without a command for a second, a signal ends the sandbox; a command that has just ended is not
 *   such a case. One that has ended, and has no memory any more, may stay: it can stop the first
 *   process by ptrace(2). A further signal interrupts the wait for this second, which goes on. A
 *   process is stopped before its children are listed, because a new bubblewrap would outlive a
 *   parent that is killed.
 * - A signal may interrupt the wait for a command that has just ended. It is waited for once more,
 *   which gives 127 where the shell has forgotten it.
 */
export const TRAMPOLINE = String.raw`
directory=$1 holder=$2 setpriv=$3 nsenter=$4 bwrap=$5 must_enter=$6 hold_limits=$7
processes=$8 files=$9
shift 9
data=$1 after=$2 env=$3
shift 2

refuse() {
  printf 'palisade: %s\n' "$1" >&2
  exit 125
}

for file in arguments seccomp gate info sync end; do
  [ -r "$directory/$file" ] || refuse 'the agent has withdrawn this sandbox; run the command again'
done
${CHOOSE_CARRIED}
exec 8<&- 9<&- 3<"$directory/arguments" 4<"$directory/seccomp"
exec 5<>"$directory/gate" 6<>"$directory/info" 7<>"$directory/sync"
exec 8<>"$directory/end" 9<"$directory/end" 8<&-
for link in /proc/$$/fd/*; do
  case $link in
    */[0-9]) ;;
    *) refuse "descriptor $link is open; close it before the command" ;;
  esac
done

lesser() {
  least=$2
  [ "$1" = unlimited ] || [ "$1" -ge "$2" ] || least=$1
}
while read -r word first second third fourth rest; do
  case $first in
    processes) lesser "$third" "$processes" && processes=$least ;;
    open) lesser "$fourth" "$files" && files=$least ;;
    data) [ -z "$data" ] || { lesser "$fourth" "$((data * 1024))" && data=$((least / 1024)); } ;;
  esac
done <"/proc/$$/limits"

${START_CARRIERS}
tries=0
forward() {
  [ "$!" != "$carried" ] || exit 125
  while [ "$tries" -lt 10 ]; do
    tries=$((tries + 1))
    process=$!
    for generation in bubblewrap first command; do
      child=
      [ -z "$process" ] || read -r child rest <"/proc/$process/task/$process/children"
      process=$child
    done
    size=0
    [ -z "$process" ] || read -r size rest <"/proc/$process/statm"
    if [ "$size" != 0 ]; then
      tries=0
      kill -s "$1" "$process"
      return
    fi
    state=Z
    read -r number name state rest <"/proc/$!/stat"
    [ "$state" != Z ] || return
    sleep 0.1
  done
  end_all
} 2>/dev/null

end_all() {
  process=$! all=
  while [ -n "$process" ]; do
    kill -s STOP "$process"
    while read -r number name state rest <"/proc/$process/stat"; do
      case $state in [RSD]) ;; *) break ;; esac
    done
    all="$process $all" child=
    read -r child rest <"/proc/$process/task/$process/children"
    process=$child
  done
  kill -s KILL $all
}

interrupt=INT quit=QUIT session=--new-session
if [ -t 0 ] || [ -t 1 ] || [ -t 2 ]; then
  interrupt=0 quit=0 session=
fi
trap "forward $interrupt" INT
trap "forward $quit" QUIT
for signal in HUP TERM USR1 USR2; do
  trap "forward $signal" "$signal"
done

(
  trap '' HUP INT QUIT TERM USR1 USR2
  [ ! -e "$directory/cgroups" ] || while read -r group; do
    { echo 0 >"$group/cgroup.procs"; } 2>/dev/null || [ "$must_enter" = no ] ||
      refuse "the control group $group cannot be entered, so a limit cannot be held"
  done <"$directory/cgroups"
  exec "$setpriv" --pdeathsig KILL -- \
    /bin/sh -c "$open_carried" palisade "$$" "$input" "$output" "$errors" \
    "$nsenter" --no-fork --preserve-credentials \
    --target "$holder" --user --net --pid --mount -- \
    /bin/sh -c "$hold_limits" palisade "$$" "$processes" "$files" "$data" \
    "$bwrap" $session --args 3 -- "$@"
) <&8 7<&- 9<&- &
exec 3<&- 4<&- 5<&- 6<&-
if [ "$amount" -gt 0 ]; then exec 8<"$input"; else exec 8<&-; fi

while
  wait "$!"
  status=$?
  [ "$status" -gt 128 ] && kill -s 0 "$!" 2>/dev/null
do :; done
if [ "$status" -gt 128 ]; then
  wait "$!"
  last=$?
  [ "$last" -eq 127 ] || status=$last
fi

${END_CARRIERS}
if [ -s "$directory/refusal" ]; then
  while IFS= read -r line || [ -n "$line" ]; do
    printf 'palisade: %s\n' "$line" >&2
  done <"$directory/refusal"
  status=125
fi
exec 7<&-
while IFS= read -r line; do
  printf 'palisade: %s\n' "$line" >&2
done <&9
[ -n "$after" ] || exit "$status"
exec 9<&-
eval "exec $after $status"
`
