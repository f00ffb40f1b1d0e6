#!/usr/bin/env node
// kubectl finds a plugin by its name on PATH: `kubectl handover status` starts this.
import('../dist/main.js').then(({ main }) => main('kubectl handover'));
