// Command karpenter-peer runs the engine of sigs.k8s.io/karpenter on a case
// file, so that another engine can be measured against it on the same input.
//
// `solve` prints an array of plans, one for each repeat.
//
//	karpenter-peer solve       --objects cluster.json --catalogue instance-types.json [--repeat N] -o json
//	karpenter-peer consolidate --objects cluster.json --catalogue instance-types.json -o json
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"runtime/debug"
	"syscall"

	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/karpenter/pkg/operator/injection"
	"sigs.k8s.io/karpenter/pkg/operator/logging"
	"sigs.k8s.io/karpenter/pkg/operator/options"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "karpenter-peer:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 0 || (args[0] != "solve" && args[0] != "consolidate") {
		return fmt.Errorf("usage: karpenter-peer solve|consolidate --objects FILE --catalogue FILE [--repeat N] -o json")
	}
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	objects := flags.String("objects", "", "cluster objects, a v1 List in JSON")
	catalogue := flags.String("catalogue", "", "instance types, in the JSON form of Karpenter's KWOK provider")
	repeat := flags.Int("repeat", 1, "solve so many times; every plan is printed")
	threads := flags.Int("threads", 1, "the engine's concurrency; 1 is Karpenter's default, its benchmark takes 5")
	ignorePreferences := flags.Bool("ignore-preferences", false, "run with PreferencePolicy=Ignore")
	spotToSpot := flags.Bool("spot-to-spot", false, "enable the SpotToSpotConsolidation feature gate")
	output := flags.String("o", "json", "output form; only json")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	if *output != "json" || *repeat < 1 || *threads < 1 {
		return fmt.Errorf("-o must be json, --repeat and --threads positive")
	}

	log.SetLogger(logging.NopLogger)
	engineOptions := &options.Options{
		CPURequests:       int64(*threads) * 1000,
		PreferencePolicy:  options.PreferencePolicyRespect,
		MinValuesPolicy:   options.MinValuesPolicyStrict,
		IgnoreDRARequests: true,
		FeatureGates:      options.FeatureGates{ReservedCapacity: true, SpotToSpotConsolidation: *spotToSpot},
	}
	if *ignorePreferences {
		engineOptions.PreferencePolicy = options.PreferencePolicyIgnore
	}
	ctx := options.ToContext(injection.WithControllerName(context.Background(), "peer"), engineOptions)

	instanceTypes, err := readCatalogue(*catalogue)
	if err != nil {
		return err
	}
	objectStore, err := readCluster(*objects)
	if err != nil {
		return err
	}
	var result any
	if args[0] == "solve" {
		result, err = solve(ctx, objectStore, instanceTypes, *repeat)
	} else {
		result, err = consolidate(ctx, objectStore, instanceTypes)
	}
	if err != nil {
		return err
	}
	encoder := json.NewEncoder(os.Stdout)
	encoder.SetIndent("", " ")
	return encoder.Encode(result)
}

// engineVersion is the version of the karpenter module in this binary.
func engineVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, module := range info.Deps {
			if module.Path == "sigs.k8s.io/karpenter" {
				return module.Version
			}
		}
	}
	return "unknown"
}

func maxRSSMiB() float64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return float64(usage.Maxrss) / 1024
}
